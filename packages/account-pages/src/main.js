import { client, connect, settings } from './api.js'
import { button, find, h, links } from './element.js'
import { describeProblem, findLanguage, LANGUAGES, setLanguage, texts } from './language.js'
import { go, refresh, say, startRouter } from './router.js'
import { logIn } from './views/log-in.js'

/** @import { Language } from './language.js' */
/** @import { Route } from './router.js' */

const LANGUAGE_KEY = 'latchkey-language'

// Each is loaded when it is first shown; the login, with which most visits begin, is there at once.
const load = {
  deleteAccount: () => import('./views/delete-account.js'),
  devices: () => import('./views/devices.js'),
  factors: () => import('./views/factors.js'),
  mailLogin: () => import('./views/mail-login.js'),
  profile: () => import('./views/profile.js'),
  reset: () => import('./views/reset-password.js'),
  secondFactor: () => import('./views/second-factor.js'),
  security: () => import('./views/security.js'),
  signUp: () => import('./views/sign-up.js'),
}

const connecting = connectOnce()
await setLanguage(findLanguage(localStorage.getItem(LANGUAGE_KEY)))
await start(connecting)

/** Resolves with what has gone wrong. */
function connectOnce() {
  return connect(async () => (await import('./step-up.js')).confirmLogin()).then(
    () => undefined,
    (error) => error,
  )
}

/**
 * Without the settings nothing can be shown, so a lost request can be repeated here too.
 * @param {Promise<unknown>} connecting
 */
async function start(connecting) {
  const error = await connecting
  if (error) {
    document.body.classList.remove('loading')
    const alert = h('p', { class: 'problem', role: 'alert' }, describeProblem(error))
    const retry = button(texts.tryAgain, () => start(connectOnce()))
    find('main').replaceChildren(h('h1', {}, texts.notLoaded), alert, links(retry))
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
    forgot: { render: async (given) => (await load.reset()).requestReset(given) },
    code: { render: async (given) => (await load.reset()).confirmReset(given) },
    password: { render: async (given) => (await load.reset()).setPassword(given) },
    ...(settings.mail_login && {
      'mail-login': { render: async (given) => (await load.mailLogin()).requestLoginCode(given) },
      'mail-code': { render: async (given) => (await load.mailLogin()).confirmLoginCode(given) },
    }),
    ...(settings.sign_up && {
      signup: { render: async () => (await load.signUp()).signUp() },
      'signup-code': { render: async (given) => (await load.signUp()).confirmSignUp(given) },
    }),
    ...(settings.apps && {
      'second-step': { render: async (given) => (await load.secondFactor()).secondFactor(given) },
      'add-passkey': {
        isPrivate: true,
        isForEnrolment: true,
        render: async () => (await load.factors()).addPasskey(),
      },
      'add-app': {
        isPrivate: true,
        isForEnrolment: true,
        render: async () => (await load.factors()).addApp(),
      },
    }),
    profile: { isPrivate: true, render: async (given) => (await load.profile()).profile(given) },
    security: { isPrivate: true, render: async (given) => (await load.security()).security(given) },
    devices: { isPrivate: true, render: async () => (await load.devices()).devices() },
    ...(settings.deletion && {
      delete: { isPrivate: true, render: async (given) => (await load.deleteAccount()).deleteAccount(given) },
    }),
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
  try {
    await setLanguage(language)
  } catch (error) {
    return say(describeProblem(error), 'problem')
  }
  localStorage.setItem(LANGUAGE_KEY, language)
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
