import { api, session, settings } from './api.js'
import { button, h, links } from './element.js'
import { describeProblem, setLanguage, texts } from './language.js'

/** The page without a name, before and after the login. */
const START = { out: 'login', in: 'profile' }

let views
let drawFrame
let latest = 0

/**
 * Shows the page that the address names, now and after each step through the history. A view is called with the state of its
 * entry of the history, and with the profile where it `isPrivate`; it resolves with its `title` and its `content`. A view that
 * `isForEnrolment` has no profile: a user whose role needs a second factor gets none before.
 */
export function startRouter(given, frame) {
  views = given
  drawFrame = frame
  addEventListener('popstate', () => show())
  // Told from a fault of a form: the page that was shown is the one to come back to.
  document.addEventListener('session-ended', () =>
    go('login', { next: nameOf() }, { replace: true, status: texts.sessionEnded }),
  )
  return show()
}

/** Goes to another page. Its `state` lasts as long as its entry of the history, also over a reload. */
export function go(name, state = null, { replace = false, status = '' } = {}) {
  history[replace ? 'replaceState' : 'pushState'](state, '', `#${name}`)
  return show(status)
}

/** Begins a session, and goes on to the page that was asked for. */
export function enter(token, next = 'profile', status = '') {
  session.start(token)
  return go(next, null, { replace: true, status })
}

/** Shows the page again, with what has changed. */
export const refresh = (status) => show(status)

const nameOf = () => location.hash.slice(1)

async function show(status = '') {
  const turn = ++latest
  const isIn = session.token() !== undefined
  const name = nameOf() in views ? nameOf() : START[isIn ? 'in' : 'out']
  const { isPrivate = false, isForEnrolment = false, render } = views[name]
  if (isPrivate && !isIn) return go('login', { next: name }, { replace: true, status })
  if (!isPrivate && isIn) return go(START.in, null, { replace: true, status })
  document.body.classList.add('loading')
  const page = await load(isPrivate && !isForEnrolment, render)
  // A later step, or the end of the session, has taken its place.
  if (turn !== latest) return
  document.body.classList.remove('loading')
  document.body.dataset.frame = isPrivate ? 'in' : 'out'
  drawFrame(isPrivate ? name : undefined)
  document.querySelector('main').replaceChildren(h('h1', { tabindex: '-1' }, page.title), ...page.content)
  document.title = `${page.title} · ${settings.product}`
  document.querySelector('#status').textContent = status
  focusStart(isPrivate)
}

async function load(hasProfile, render) {
  try {
    const profile = hasProfile ? (await api.GET('/profile')).data : undefined
    if (profile) await setLanguage(profile.language)
    return await render({ state: history.state ?? {}, profile })
  } catch (error) {
    if (error.slug === 'no-second-factor')
      return go('add-app', null, { replace: true, status: texts.factorNeeded })
    const retry = button(texts.tryAgain, () => show())
    return {
      title: texts.notLoaded,
      content: [h('p', { class: 'problem', role: 'alert' }, describeProblem(error)), links(retry)],
    }
  }
}

/** A page with one form begins in its first empty field, any other at its heading. */
function focusStart(isPrivate) {
  const inputs = [...document.querySelector('main').querySelectorAll('input')]
  const empty = inputs.find(({ value, hidden }) => value === '' && !hidden)
  const start = isPrivate ? undefined : empty
  ;(start ?? document.querySelector('h1')).focus()
}
