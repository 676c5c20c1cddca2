import { LatchkeyError } from './error.js'
import { createStore, readClaims } from './store.js'

/** @import { IssuedToken, Reason, Saved, SessionOptions } from '../types/api.d.ts' */

/** Above 2^31 - 1 ms a timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** No two refreshes are sent within this time, by all tabs together. */
const SHORTEST_PAUSE_MS = 1_000
/** Pauses of the timer after refreshes that fail: each is twice as long, less a random half of it. */
const FIRST_PAUSE_MS = 2_000
const LONGEST_PAUSE_MS = 60_000
/** A refresh token is used this long before the access token expires, less a random part of it. */
const MARGIN_MS = 60_000
const SPREAD = 0.2
/** The longest time for which another tab is waited for. */
const LOCK_MS = 30_000

/**
 * Keeps the session of a client, and its token fresh.
 * @param {SessionOptions} options
 */
export function createSession({ session: kind, key, refreshWindowSeconds, send, onUser }) {
  const end = new AbortController()
  const { signal } = end
  const { hasTabs, read, write } = createStore({ kind, key, signal, onChange: () => settle('other-tab') })
  const spread = 1 - Math.random() * SPREAD
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** @type {Promise<void> | undefined} */
  let refreshing
  let failures = 0
  let shown = JSON.stringify(read()?.user)

  /**
   * Tells of another user, and waits for the next refresh.
   * @param {Reason} reason
   */
  function settle(reason) {
    schedule()
    const user = read()?.user
    if (JSON.stringify(user) === shown) return
    shown = JSON.stringify(user)
    onUser(user, reason)
  }

  /**
   * Goes on with the token of an answer: of a login, or one that replaces the token of the session.
   * @param {IssuedToken} answer
   * @param {Partial<Saved>} [attempt]
   */
  function start({ token, data, refresh_token: refreshToken, refresh_expires_at }, attempt) {
    const before = read()
    const { iat, exp, sid } = readClaims(token)
    /** @type {Pick<Saved, 'isShared' | 'refreshBy' | 'refreshToken'>} */
    let rest = { isShared: false, refreshBy: 'bearer' }
    if (refresh_expires_at)
      rest = { isShared: true, refreshBy: refreshToken ? 'body' : 'cookie', refreshToken }
    else if (before && readClaims(before.token).sid === sid) rest = before
    // The lifetime is used and not `exp`: the clock of this machine may be wrong.
    write({ ...rest, ...attempt, token, user: data, expiresAt: Date.now() + (exp - iat) * 1000 })
    failures = 0
    settle('logged-in')
  }

  /** @param {Reason} reason */
  function forget(reason) {
    write(undefined)
    settle(reason)
  }

  /**
   * Returns a token that is valid for some time, or nothing where nobody is logged in. Throws where it has expired and cannot
   * be refreshed now.
   * @param {string} [refused] A token that a server has refused.
   * @param {boolean} [isByApi] False where that is another server, with reasons of its own.
   */
  async function token(refused, isByApi) {
    const session = read()
    if (!session || (session.token !== refused && Date.now() < dueAt(session))) return session?.token
    if (session.token === refused && session.refreshBy === 'bearer') {
      if (isByApi) forget('ended')
      return undefined
    }
    refreshing ??= alone(() => refresh(session.token, refused)).finally(() => {
      refreshing = undefined
    })
    await refreshing.catch((error) => {
      const now = read()
      if (!now || now.token === refused || Date.now() >= now.expiresAt) throw error
    })
    return read()?.token
  }

  /**
   * Refreshes a token, unless another tab has.
   * @param {string} stale
   * @param {string | undefined} refused
   */
  async function refresh(stale, refused) {
    const left = pauseLeft()
    if (left > SHORTEST_PAUSE_MS)
      throw new LatchkeyError(
        { type: 'urn:latchkey:problem:unavailable', title: 'The server has asked for a pause', status: 503 },
        { retryAfter: Math.ceil(left / 1000) },
      )
    if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
    const session = read()
    if (session?.token !== stale) return
    const attempt = { attemptedAt: Date.now(), pauseMs: SHORTEST_PAUSE_MS }
    write({ ...session, ...attempt })
    /** @type {IssuedToken | LatchkeyError} */
    const answer = await send(session).catch((error) => error)
    // There may have been a login or a log-out in the meantime.
    if (read()?.token !== stale) return
    if (!(answer instanceof LatchkeyError)) return start(answer, attempt)
    failures++
    const { type, retryAfter = 0 } = answer
    const next = { ...session, ...attempt, pauseMs: Math.max(retryAfter * 1000, SHORTEST_PAUSE_MS) }
    if (type.endsWith(':token-not-refreshable'))
      // The clock of this machine is ahead: the token is valid, and comes into its last minutes later.
      return write({ ...next, expiresAt: Date.now() + windowOf(session) * 1.5 })
    if (!/:invalid-(token|input)$/.test(type)) {
      write(next)
      throw answer
    }
    // Without its cookie, which a browser may refuse, a session goes on as long as its access token can be refreshed.
    if (session.refreshBy === 'cookie' && stale !== refused && Date.now() < session.expiresAt)
      return write({ ...next, refreshBy: 'bearer' })
    forget('ended')
  }

  /** @param {Saved} session */
  function windowOf({ token, refreshBy }) {
    const { iat, exp } = readClaims(token)
    return Math.min(refreshBy === 'bearer' ? refreshWindowSeconds * 1000 : MARGIN_MS, (exp - iat) * 250)
  }

  /** @param {Saved} session */
  const dueAt = (session) => session.expiresAt - windowOf(session) * spread

  /** Returns how long no refresh may be sent. A pause that would begin in the future is over: the clock was set back. */
  function pauseLeft() {
    const { attemptedAt = 0, pauseMs = 0 } = read() ?? {}
    const passed = Date.now() - attemptedAt
    return passed < 0 ? 0 : Math.max(0, pauseMs - passed)
  }

  /**
   * Lets one tab at a time run. Without locks, or where a tab holds one for too long, two refresh: the server gives both the
   * same tokens.
   * @param {() => Promise<void>} run
   */
  async function alone(run) {
    const locks = hasTabs ? globalThis.navigator?.locks : undefined
    /** @type {Promise<void> | undefined} */
    let running
    const runOnce = () => {
      running ??= run()
      return running
    }
    if (!locks) return runOnce()
    await locks.request(key, { signal: AbortSignal.timeout(LOCK_MS) }, runOnce).catch(runOnce)
  }

  /** Waits for the next refresh. A page that nobody sees refreshes once it is shown, unless its session would end. */
  function schedule() {
    clearTimeout(timer)
    const session = read()
    const isSeen = globalThis.document?.visibilityState === 'visible'
    if (!session || signal.aborted || (session.refreshBy !== 'bearer' && !isSeen)) return
    const backoff = failures && Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
    const wait = Math.max(dueAt(session) - Date.now(), pauseLeft(), backoff * (1 - Math.random() / 2))
    const run = () => void token().catch(Object).finally(schedule)
    timer = setTimeout(run, Math.min(wait, LONGEST_TIMER_MS))
    // In Node it keeps no process running.
    Object(timer).unref?.()
  }

  /** Timers are late after the machine has slept, and a page of the bfcache has missed what other tabs did. */
  function wake() {
    failures = 0
    settle('other-tab')
  }
  for (const name of ['online', 'pageshow', 'visibilitychange'])
    globalThis.addEventListener?.(name, wake, { signal })
  schedule()

  function close() {
    end.abort()
    clearTimeout(timer)
  }
  return { read, token, start, forget, alone, close }
}
