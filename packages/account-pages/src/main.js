import { client, connect, settings } from './api.js'
import { button, find, h, links } from './element.js'
import { describeProblem, findLanguage, LANGUAGES, setLanguage, texts } from './language.js'
import { go, refresh, startRouter } from './router.js'
import { confirmLogin } from './step-up.js'
import { deleteAccount } from './views/delete-account.js'
import { devices } from './views/devices.js'
import { addApp, addPasskey } from './views/factors.js'
import { logIn } from './views/log-in.js'
import { confirmLoginCode, requestLoginCode } from './views/mail-login.js'
import { profile } from './views/profile.js'
import { confirmReset, requestReset, setPassword } from './views/reset-password.js'
import { secondFactor } from './views/second-factor.js'
import { security } from './views/security.js'
import { confirmSignUp, signUp } from './views/sign-up.js'

/** @import { Language } from './language.js' */
/** @import { Route } from './router.js' */

const LANGUAGE_KEY = 'latchkey-language'

await setLanguage(findLanguage(localStorage.getItem(LANGUAGE_KEY)))
await start()

/** Without the settings nothing can be shown, so a lost request can be repeated here too. */
async function start() {
  try {
    await connect(confirmLogin)
  } catch (error) {
    const alert = h('p', { class: 'problem', role: 'alert' }, describeProblem(error))
    find('main').replaceChildren(h('h1', {}, texts.notLoaded), alert, links(button(texts.tryAgain, start)))
    return
  }
  colour(settings.colour)
  await startRouter(views(), drawFrame)
}

/**
 * Returns the pages of this installation, by the name in the address.
 * @returns {Record<string, Route>}
 */
function views() {
  return {
    login: { render: logIn },
    forgot: { render: requestReset },
    code: { render: confirmReset },
    password: { render: setPassword },
    ...(settings.mail_login && {
      'mail-login': { render: requestLoginCode },
      'mail-code': { render: confirmLoginCode },
    }),
    ...(settings.sign_up && { signup: { render: signUp }, 'signup-code': { render: confirmSignUp } }),
    ...(settings.apps && {
      'second-step': { render: secondFactor },
      'add-passkey': { isPrivate: true, isForEnrolment: true, render: addPasskey },
      'add-app': { isPrivate: true, isForEnrolment: true, render: addApp },
    }),
    profile: { isPrivate: true, render: profile },
    security: { isPrivate: true, render: security },
    devices: { isPrivate: true, render: devices },
    ...(settings.deletion && { delete: { isPrivate: true, render: deleteAccount } }),
  }
}

/**
 * Draws what is around a page.
 * @param {string | undefined} current The name of the page, where the user is logged in.
 */
function drawFrame(current) {
  /** @param {'profile' | 'security' | 'devices'} name */
  const item = (name) =>
    h('a', { class: 'plain', href: `#${name}`, 'aria-current': name === current && 'page' }, texts[name])
  const nav = h(
    'nav',
    { 'aria-label': texts.account },
    item('profile'),
    item('security'),
    item('devices'),
    button(texts.logOut, logOut, { class: 'plain' }),
  )
  find('header').replaceChildren(h('p', { class: 'product' }, settings.product), ...(current ? [nav] : []))
  const languages = Object.entries(LANGUAGES).map(([language, name]) =>
    button(name, () => choose(/** @type {Language} */ (language)), {
      class: 'plain',
      lang: language,
      'aria-pressed': String(language === document.documentElement.lang),
    }),
  )
  find('footer').replaceChildren(
    ...(current ? [] : [h('p', { class: 'languages' }, ...languages)]),
    ...(settings.support
      ? [h('p', {}, `${texts.help} `, h('a', { href: `mailto:${settings.support}` }, settings.support))]
      : []),
  )
}

/** @param {Language} language */
async function choose(language) {
  localStorage.setItem(LANGUAGE_KEY, language)
  await setLanguage(language)
  await refresh()
}

/** Ends the session here in any case; where the request is lost, the server ends it later. */
async function logOut() {
  const status = await client.logOut().then(
    () => texts.loggedOut,
    () => texts.loggedOutHere,
  )
  await go('login', null, { status })
}

/**
 * Sets the colour of the product, and that of text on it, which has to be readable.
 * @param {string} product As `#rrggbb`.
 */
function colour(product) {
  /** @param {number} at */
  const light = (at) => (Number.parseInt(product.slice(at, at + 2), 16) / 255) ** 2.2
  // The relative luminance of WCAG 2.2, at which black and white differ equally from the colour.
  const isLight = 0.2126 * light(1) + 0.7152 * light(3) + 0.0722 * light(5) > 0.179
  const { style } = document.documentElement
  style.setProperty('--product', product)
  style.setProperty('--on-product', isLight ? '#000' : '#fff')
}
