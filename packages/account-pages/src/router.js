import { client, settings } from './api.js'
import { LatchkeyError } from './client/client.js'
import { button, find, h, link, links } from './element.js'
import { describeProblem, setLanguage, slugOf, texts } from './language.js'
import { readMailLink } from './mail-link.js'

/** @import { Schemas } from './api.js' */

/**
 * @typedef {object} State What a page gives to the next one.
 * @property {string | undefined} [next] The page to go on with.
 * @property {string | undefined} [username]
 * @property {string | undefined} [email]
 * @property {string | undefined} [token]
 * @property {string | undefined} [code] The code of a mail, which its link fills in.
 * @property {string | undefined} [challenge]
 * @property {string[] | undefined} [factors]
 * @property {boolean | undefined} [remember] False where the login is to end with the page.
 * @property {Record<string, string> | undefined} [typed] What was typed into the form, without secrets.
 * @property {number | undefined} [tries] How many wrong codes were sent.
 */

/** @typedef {{ title: string, content: Node[] }} Page */
/** @typedef {{ isPrivate?: false, render: (given: { state: State }) => Promise<Page> }} PublicRoute */
/** @typedef {{ isPrivate: true, isForEnrolment: true, render: () => Promise<Page> }} EnrolmentRoute */
/**
 * @typedef {object} PrivateRoute
 * @property {true} isPrivate
 * @property {false} [isForEnrolment]
 * @property {(given: { profile: Schemas['Profile'], state: State }) => Promise<Page>} render
 */
/** @typedef {PublicRoute | EnrolmentRoute | PrivateRoute} Route */

/** The page without a name, before and after the login. */
const START = { out: 'login', in: 'profile' }

/** @type {Record<string, Route>} */
let views = {}
/** @type {(current: string | undefined) => void} */
let drawFrame
let latest = 0
/** @type {string | undefined} The id of the user for whom the page is shown. */
let shownFor

/**
 * Shows the page that the address names, now and after each step through the history. A view is called with the state of its
 * entry of the history, or with the profile where it `isPrivate`; it resolves with its `title` and its `content`. A view that
 * `isForEnrolment` has no profile: a user whose role needs a second factor gets none before.
 * @param {Record<string, Route>} given
 * @param {(current: string | undefined) => void} frame
 */
export function startRouter(given, frame) {
  views = given
  drawFrame = frame
  addEventListener('popstate', () => show())
  client.onChange((user, { reason }) => {
    // The page that was shown is the one to come back to.
    if (reason === 'ended')
      void go('login', { next: nameOf() }, { replace: true, status: texts.sessionEnded, tone: 'notice' })
    if (reason === 'other-tab' && user?.userid !== shownFor) void show(user ? '' : texts.loggedOut)
  })
  return show()
}

/**
 * Goes to another page. Its `state` lasts as long as its entry of the history, also over a reload.
 * @param {string} name
 * @param {State | null} state
 * @returns {Promise<void>}
 */
export function go(name, state = null, { replace = false, status = '', tone = 'good' } = {}) {
  history[replace ? 'replaceState' : 'pushState'](state, '', `#${name}`)
  return show(status, tone)
}

/** Goes on after a login to the page that was asked for, with the code that it was asked for with. */
export function enter(status = '') {
  const { next, code } = stateOf()
  return go(next ?? START.in, next && code ? { code } : null, { replace: true, status })
}

/** Shows the page again, with what has changed. */
export const refresh = (status = '') => show(status)

/**
 * Says something above the page.
 * @param {string} status
 * @param {string} tone How: `good`, `notice` or `problem`.
 */
export function say(status, tone = 'good') {
  const element = find('#status')
  element.textContent = status
  element.className = tone
}

const nameOf = () => location.hash.slice(1)

/** @returns {State} */
const stateOf = () => history.state ?? {}

async function show(status = '', tone = 'good') {
  const turn = ++latest
  readMailLink()
  shownFor = client.user?.userid
  const isIn = shownFor !== undefined
  const { name, route } = findRoute(isIn)
  const { isPrivate = false } = route
  const { code } = stateOf()
  if (isPrivate && !isIn) return go('login', { next: name, code }, { replace: true, status, tone })
  if (!isPrivate && isIn && route !== NOT_FOUND) return enter(status)
  document.body.classList.add('loading')
  const page = await load(route)
  // A later step, or the end of the session, has taken its place.
  if (turn !== latest || !page) return
  document.body.classList.remove('loading')
  document.body.dataset.frame = isIn ? 'in' : 'out'
  drawFrame(isIn ? name : undefined)
  find('main').replaceChildren(h('h1', { tabindex: '-1' }, page.title), ...page.content)
  document.title = `${page.title} · ${settings.product}`
  say(status, tone)
  focusStart(isIn)
}

/** @type {PublicRoute} */
const NOT_FOUND = {
  render: async () => ({
    title: texts.notFound,
    content: [h('p', {}, texts.notFoundHint), links(link('', client.user ? texts.profile : texts.logIn))],
  }),
}

/**
 * Finds the page that the address names.
 * @param {boolean} isIn
 */
function findRoute(isIn) {
  const name = nameOf() || START[isIn ? 'in' : 'out']
  return { name, route: (Object.hasOwn(views, name) && views[name]) || NOT_FOUND }
}

/**
 * Resolves with nothing where another page takes the place of this one.
 * @param {Route} route
 */
async function load(route) {
  try {
    if (!route.isPrivate) return await route.render({ state: stateOf() })
    if (route.isForEnrolment) return await route.render()
    const profile = await client.profile()
    await setLanguage(profile.language)
    return await route.render({ profile, state: stateOf() })
  } catch (error) {
    if (slugOf(error) === 'no-second-factor')
      return go('add-app', null, { replace: true, status: texts.factorNeeded })
    // A module that was lost is not asked for again before the page is loaded again.
    const retry = button(texts.tryAgain, () => (error instanceof LatchkeyError ? show() : location.reload()))
    return {
      title: texts.notLoaded,
      content: [h('p', { class: 'problem', role: 'alert' }, describeProblem(error)), links(retry)],
    }
  }
}

/**
 * Begins a page with one form in its first empty field, any other at its heading.
 * @param {boolean} isIn
 */
function focusStart(isIn) {
  const inputs = [...find('main').querySelectorAll('input')]
  const empty = inputs.find(({ value, hidden }) => value === '' && !hidden)
  const start = isIn ? undefined : empty
  ;(start ?? find('h1')).focus()
}
