const STORAGE_KEY = 'latchkey-session'
/** Spreads the refreshes of pages that were opened at the same moment, as a share of the refresh window. */
const SPREAD = 0.2
/** Pauses after refreshes that fail: each is twice as long as the one before, and a random half of it is left out. */
const FIRST_PAUSE_MS = 2_000
const LONGEST_PAUSE_MS = 60_000
/** Above 2^31 - 1 ms a timer fires at once. */
const LONGEST_TIMER_MS = 86_400_000

/**
 * @typedef {object} Session
 * @property {string} token
 * @property {number} expiresAt In milliseconds, by the clock of this machine.
 */

/**
 * Keeps the token of this tab and refreshes it in its last minutes. `refresh` resolves with a new token, and rejects where
 * there is none yet, with `retryAfterSeconds` where the server says so; it calls `end` where the server refuses the token.
 * @param {{ refresh: () => Promise<string>, onEnd: () => void }} given
 */
export function createSession({ refresh, onEnd }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** The time before its expiry from which a token can be refreshed; 0 until `resume` sets it. */
  let refreshWindowMs = 0
  /** The share of the window that passes before the token is refreshed. */
  let spread = 0
  let failures = 0
  /** The end of what Retry-After forbids, by a clock that is never set. */
  let blockedUntil = 0
  /** @type {string | undefined} */
  let refreshing
  /** A duplicated tab has a copy of the token: the tabs refresh it once. */
  const tabs = new BroadcastChannel(STORAGE_KEY)
  tabs.onmessage = ({ data: { from, session } }) => from && pairOf(load()) === from && keep(session)

  /** @param {string} token */
  function start(token) {
    const { iat, exp } = readClaims(token)
    // The lifetime is used and not `exp`: the clock of this machine may be wrong.
    keep({ token, expiresAt: Date.now() + (exp - iat) * 1000 })
  }

  /** @param {Session} session */
  function keep(session) {
    store(session)
    spread = Math.random() * SPREAD
    failures = 0
    schedule()
  }

  function forget() {
    clearTimeout(timer)
    sessionStorage.removeItem(STORAGE_KEY)
  }

  function end() {
    forget()
    onEnd()
  }

  /** Refreshes the token once it can be, and not before `pauseMs` have passed. */
  function schedule(pauseMs = 0) {
    clearTimeout(timer)
    const session = load()
    if (!session || refreshing === session.token) return
    const { iat, exp } = readClaims(session.token)
    // Half of the lifetime at most: a page that was open while the settings changed would refresh without a pause.
    const windowMs = Math.min(refreshWindowMs, (exp - iat) * 500)
    const due = session.expiresAt - windowMs * (1 - spread) - Date.now()
    const wait = Math.max(due, pauseMs, blockedUntil - performance.now())
    timer = setTimeout(
      () => (wait > LONGEST_TIMER_MS ? schedule() : refreshToken()),
      Math.min(wait, LONGEST_TIMER_MS),
    )
  }

  async function refreshToken() {
    const session = load()
    if (!session) return
    const { token, expiresAt } = session
    refreshing = token
    const answer = await refresh().then(
      (next) => ({ next, retryAfterSeconds: 0 }),
      (problem) => ({ next: undefined, retryAfterSeconds: Number(problem.retryAfterSeconds) || 0 }),
    )
    if (refreshing === token) refreshing = undefined
    // There was a login or a logout in the meantime, in this tab or in another one.
    if (load()?.token !== token) return schedule()
    if (answer.next) return replace(answer.next)
    // No answer, a busy server, or one whose clock is behind: the same token is tried again. Only the server knows whether it
    // has expired; where it should have, the pauses go on to grow.
    blockedUntil = performance.now() + answer.retryAfterSeconds * 1000
    const longest = Date.now() < expiresAt ? LONGEST_PAUSE_MS : LONGEST_TIMER_MS
    schedule(Math.min(FIRST_PAUSE_MS * 2 ** failures++, longest) * (1 - Math.random() / 2))
  }

  /**
   * Goes on with another token of the same user, in the duplicates of this tab too.
   * @param {string} token
   */
  function replace(token) {
    const from = pairOf(load())
    start(token)
    tabs.postMessage({ from, session: load() })
  }

  /** A timer is late after the machine has slept, and a pause needless once the network is back. */
  function wake() {
    failures = 0
    schedule()
  }
  document.addEventListener('visibilitychange', () => document.hidden || wake())
  addEventListener('online', wake)

  return {
    token: () => load()?.token,
    /**
     * Goes on with the session of this tab after a reload.
     * @param {number} refreshWindowSeconds REFRESH_WINDOW of the server.
     */
    resume(refreshWindowSeconds) {
      refreshWindowMs = refreshWindowSeconds * 1000
      schedule()
    },
    start,
    replace,
    forget,
    end,
  }
}

/**
 * Stores the token for this tab only, with which it ends. A script of another origin cannot read it; one on this page can.
 * @param {Session} session
 */
const store = (session) => sessionStorage.setItem(STORAGE_KEY, JSON.stringify(session))

/** @returns {Session | undefined} */
const load = () => JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? 'null') ?? undefined

/**
 * Returns what the answers to one refresh have in common: two tabs may have got one each.
 * @param {Session | undefined} session
 */
const pairOf = (session) => session && readClaims(session.token).jti

/**
 * Reads the payload of a token. Only the server can tell if it is genuine.
 * @param {string} token
 * @returns {{ iat: number, exp: number, jti: string }}
 */
function readClaims(token) {
  const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}
