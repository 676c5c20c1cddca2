const STORAGE_KEY = 'latchkey-session'
/** REFRESH_WINDOW: how long before its expiry a token can be refreshed, in milliseconds. */
const REFRESH_WINDOW_MS = 300_000
/** Spreads the refreshes of pages that were opened at the same moment. */
const SPREAD_MS = 60_000
const RETRY_MS = 15_000

/**
 * Keeps the token of this tab and refreshes it in its last minutes. `onChange` is called with true after a login and
 * with false when the session has ended, for whatever reason.
 */
export function createSession({ api, onChange }) {
  let timer
  /** A duplicated tab has a copy of the token: the tabs refresh it once. */
  const tabs = new BroadcastChannel(STORAGE_KEY)
  tabs.onmessage = ({ data: { from, to } }) => load()?.token === from && start(to)

  function start(token) {
    const { iat, exp } = readClaims(token)
    // From the lifetime, not from `exp`: the clock of this machine may be wrong.
    store({ token, expiresAt: Date.now() + (exp - iat) * 1000 })
    schedule(Math.random() * SPREAD_MS)
  }

  function end() {
    clearTimeout(timer)
    sessionStorage.removeItem(STORAGE_KEY)
    onChange(false)
  }

  function schedule(delayMs = 0) {
    clearTimeout(timer)
    const session = load()
    if (!session) return
    const left = session.expiresAt - Date.now()
    if (left <= 0) return end()
    timer = setTimeout(refresh, Math.max(left - REFRESH_WINDOW_MS, 0) + delayMs)
  }

  async function refresh() {
    const session = load()
    if (!session) return
    const response = await send('POST', '/refreshtoken').catch(() => undefined)
    // A login or a logout meanwhile wins.
    if (load()?.token !== session.token) return
    if (response?.ok) return replace(session.token, await response.json())
    // The server is unavailable or busy, or its clock is behind: try again while the token is valid.
    schedule(RETRY_MS)
  }

  function replace(from, { token }) {
    tabs.postMessage({ from, to: token })
    start(token)
  }

  async function send(method, path, body) {
    const headers = {}
    const session = load()
    if (session) headers.Authorization = `Bearer ${session.token}`
    if (body) headers['Content-Type'] = 'application/json'
    const response = await fetch(`${api}${path}`, { method, headers, body: body && JSON.stringify(body) })
    const isCurrent = session !== undefined && load()?.token === session.token
    if (isCurrent && (await isRefused(response))) end()
    return response
  }

  /** Sends a request with the token, if there is one; throws the problem that it is answered with. */
  async function request(method, path, body) {
    const response = await send(method, path, body)
    if (response.ok) return response.status === 204 ? undefined : response.json()
    throw Object.assign(new Error(), await response.json())
  }

  async function logIn(path, body) {
    const { token } = await request('POST', path, body)
    start(token)
    onChange(true)
  }

  // A timer is late after the machine has slept.
  document.addEventListener('visibilitychange', () => document.hidden || schedule())

  return {
    request,
    isLoggedIn: () => load() !== undefined,
    /** Goes on with the session of this tab after a reload. */
    resume: () => schedule(),
    logIn: (username, password) => logIn('/login', { username, password }),
    /** Creates the account of a sign-up, and logs in. */
    confirmSignUp: (confirmation) => logIn('/signup/confirm', confirmation),
    /** Ends every token of the user; this tab goes on with the new one. */
    async changePassword(currentPassword, password) {
      const { token } = load()
      replace(token, await request('PUT', '/profile/password', { currentPassword, password }))
    },
    /** With `everywhere` on all devices of the user. */
    async logOut({ everywhere = false } = {}) {
      await send('POST', '/logout', { everywhere }).catch(() => undefined)
      if (load()) end()
    },
  }
}

/** Of this tab only, and gone with it. A script of another origin cannot read it; one on this page can. */
const store = (session) => sessionStorage.setItem(STORAGE_KEY, JSON.stringify(session))
const load = () => JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? 'null') ?? undefined

/** Whether the token has expired or was revoked; one that is refreshed too early is valid. */
async function isRefused(response) {
  if (response.status !== 401) return false
  const { type } = await response.clone().json()
  return type !== 'urn:latchkey:problem:token-not-refreshable'
}

/** The payload of a token. Only the server can tell whether it is genuine. */
function readClaims(token) {
  const payload = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}
