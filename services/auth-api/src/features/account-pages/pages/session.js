const STORAGE_KEY = 'latchkey-session'
/** Spreads the refreshes of pages that were opened at the same moment, as a share of the refresh window. */
const SPREAD = 0.2
const RETRY_MS = 15_000

/**
 * Keeps the token of this tab and refreshes it in its last minutes. `refresh` resolves with a new token, and rejects where
 * there is none yet; `onEnd` is called when the token has expired or was refused.
 */
export function createSession({ refresh, onEnd }) {
  let timer
  /** How long before its expiry a token can be refreshed; 0 until `resume` sets it. */
  let refreshWindowMs = 0
  /** A duplicated tab has a copy of the token: the tabs refresh it once. */
  const tabs = new BroadcastChannel(STORAGE_KEY)
  tabs.onmessage = ({ data: { from, to } }) => load()?.token === from && start(to)

  function start(token) {
    const { iat, exp } = readClaims(token)
    // The lifetime is used and not `exp`: the clock of this machine may be wrong.
    store({ token, expiresAt: Date.now() + (exp - iat) * 1000 })
    schedule(Math.random() * SPREAD * refreshWindowMs)
  }

  function forget() {
    clearTimeout(timer)
    sessionStorage.removeItem(STORAGE_KEY)
  }

  function end() {
    forget()
    onEnd()
  }

  function schedule(delayMs = 0) {
    clearTimeout(timer)
    const session = load()
    if (!session) return
    const left = session.expiresAt - Date.now()
    if (left <= 0) return end()
    timer = setTimeout(refreshToken, Math.max(left - refreshWindowMs, 0) + delayMs)
  }

  async function refreshToken() {
    const token = load()?.token
    if (!token) return
    const next = await refresh().catch(() => undefined)
    // There was a login or a logout in the meantime, in this tab or in another one.
    if (load()?.token !== token) return
    if (next) return replace(next)
    // The server is unavailable or busy, or its clock is behind: try again while the token is valid.
    schedule(RETRY_MS)
  }

  /** Goes on with another token of the same user, in the duplicates of this tab too. */
  function replace(token) {
    tabs.postMessage({ from: load()?.token, to: token })
    start(token)
  }

  // A timer is late after the machine has slept.
  document.addEventListener('visibilitychange', () => document.hidden || schedule())

  return {
    token: () => load()?.token,
    /** Goes on with the session of this tab after a reload. `refreshWindowSeconds` is REFRESH_WINDOW of the server. */
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

/** The token is stored for this tab only, and ends with it. A script of another origin cannot read it; one on this page can. */
const store = (session) => sessionStorage.setItem(STORAGE_KEY, JSON.stringify(session))
const load = () => JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? 'null') ?? undefined

/** The payload of a token. Only the server can tell whether it is genuine. */
function readClaims(token) {
  const payload = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}
