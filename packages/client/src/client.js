import { readProblem, throwNoAnswer } from './error.js'
import { createSession } from './session.js'

/** @import { BindRequest, CallOptions, IssuedToken, Listener, Login, Options, Saved, Schemas, Send, SendRequest, User } from '../types/api.d.ts' */

export { LatchkeyError, NO_ANSWER } from './error.js'

/** @typedef {ReturnType<typeof createClient>} Client */

/** The longest time for which an answer of the API is waited for. */
const TIMEOUT_MS = 20_000
const INSUFFICIENT = 'error="insufficient_user_authentication"'

/**
 * Creates a client of Latchkey.
 * @param {Options} options
 */
export function createClient(options) {
  const { url, session: kind, origins = [], onStepUp, refreshWindowSeconds = 300 } = options
  const { fetch: send = (request) => globalThis.fetch(request) } = options
  if (!['cookie', 'storage', 'memory'].includes(kind))
    throw new TypeError(`session is ${kind}; choose 'cookie', 'storage' or 'memory'`)
  const base = new URL(url)
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  const trusted = new Set([base, ...origins].map((each) => new URL(each).origin))
  /** @type {Set<Listener>} */
  const listeners = new Set()
  const session = createSession({
    session: kind,
    key: `latchkey ${base}`,
    refreshWindowSeconds,
    send({ token, refreshBy, refreshToken }) {
      if (refreshBy === 'bearer') return call('POST', '/refreshtoken', undefined, { headers: bearer(token) })
      const credentials = credentialsFor(refreshBy)
      return call('POST', '/refreshtoken', { refresh_token: refreshToken }, { credentials })
    },
    onUser(user, reason) {
      for (const listener of listeners) listener(user, { reason })
    },
  })
  /** The newest token that was refused at once: another refresh does not help. */
  let hopeless = ''
  /** @type {Promise<unknown> | undefined} */
  let steppingUp

  /** @type {Send} */
  const sendInTime = (request) =>
    send(new Request(request, { signal: AbortSignal.timeout(TIMEOUT_MS) })).catch(throwNoAnswer)

  /**
   * Sends a request to the API, and returns what the answer has.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {CallOptions} [options]
   */
  async function call(method, path, body, { headers, credentials = 'same-origin', by = sendInTime } = {}) {
    const content = body !== undefined && { body: JSON.stringify(body) }
    const all = { ...(content && { 'content-type': 'application/json' }), ...headers }
    const request = new Request(new URL(`.${path}`, base), { method, headers: all, credentials, ...content })
    const response = await by(request)
    if (!response.ok) throw await readProblem(response)
    const text = response.text()
    return text.then((given) => (given ? JSON.parse(given) : undefined)).catch(throwNoAnswer)
  }

  /**
   * Sends a request with the token, and once more after a 401 that a refresh or a step-up heals.
   * @param {Request} request
   * @param {Send} by
   */
  async function sendWithToken(request, by) {
    const token = await session.token()
    if (!token) return by(request)
    // A body can be read once.
    const again = request.clone()
    request.headers.set('authorization', `Bearer ${token}`)
    const response = await by(request)
    if (response.status !== 401) return response
    const needsStepUp = response.headers.get('www-authenticate')?.includes(INSUFFICIENT)
    if (needsStepUp ? !onStepUp : token === hopeless) return response
    if (needsStepUp) await stepUpOnce(response)
    const isByApi = new URL(request.url).origin === base.origin
    const next = await (needsStepUp ? session.token() : session.token(token, isByApi))
    if (!next) return response
    again.headers.set('authorization', `Bearer ${next}`)
    const second = await by(again)
    if (second.status === 401 && !needsStepUp) hopeless = next
    return second
  }

  /** @param {Response} response */
  async function stepUpOnce(response) {
    const challenge = await readProblem(response)
    steppingUp ??= onStepUp?.(challenge).finally(() => {
      steppingUp = undefined
    })
    await steppingUp
  }

  /** @type {Send} */
  const byToken = (sent) => sendWithToken(sent, sendInTime)

  /** @type {SendRequest} */
  const request = async (method, path, ...[body]) => keep(await call(method, path, body, { by: byToken }))

  /** @type {BindRequest} */
  const bind =
    (method, path) =>
    (...body) =>
      request(method, path, ...body)

  /**
   * @template {Partial<IssuedToken> | undefined} T
   * @param {T} answer
   */
  function keep(answer) {
    const { token, data } = answer ?? {}
    if (token && data) session.start({ ...answer, token, data })
    return answer
  }

  /**
   * Completes a login by a path whose answer has a token.
   * @param {string} path
   * @param {Record<string, unknown> & { remember?: boolean }} body
   * @returns {Promise<User>}
   */
  async function enter(path, { remember = true, ...body }) {
    const isCookie = remember && kind === 'cookie'
    const how = remember && { remember: isCookie ? 'cookie' : true }
    const credentials = credentialsFor(isCookie ? 'cookie' : 'bearer')
    return keep(await call('POST', path, { ...body, ...how }, { credentials })).data
  }

  /**
   * Logs out here and in all tabs. Throws where the server cannot be told: the session goes on there, and also here where it
   * was to end `everywhere`.
   * @param {{ everywhere?: boolean }} [given]
   */
  async function logOut({ everywhere = false } = {}) {
    const now = session.read()
    if (!now) return
    if (!everywhere) session.forget('logged-out')
    const headers = now.refreshBy === 'bearer' ? bearer(now.token) : {}
    const credentials = credentialsFor(now.refreshBy)
    const body = { everywhere, refresh_token: now.refreshToken }
    const told = session.alone(() => call('POST', '/logout', body, { headers, credentials }))
    await told.catch((error) => {
      // The session had ended.
      if (error.status !== 401) throw error
    })
    if (everywhere) session.forget('logged-out')
  }

  return {
    /** Who is logged in, in all tabs; undefined where nobody is. */
    get user() {
      return session.read()?.user
    },
    /** Resolves with a fresh token, to send it other than by `fetch`; with undefined where nobody is logged in. */
    token: () => session.token(),
    /**
     * Calls a listener when another user, or nobody, is logged in. Returns a function that ends this.
     * @param {Listener} listener
     */
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /**
     * Sends a request like the global `fetch`, with the token where it goes to the API or to one of `origins`.
     * @param {RequestInfo | URL} input
     * @param {RequestInit} [init]
     */
    async fetch(input, init) {
      const page = globalThis.location?.href ?? base
      const sent = new Request(input instanceof Request ? input : new URL(input, page), init)
      const isOurs = trusted.has(new URL(sent.url).origin) && !sent.headers.has('authorization')
      return isOurs ? sendWithToken(sent, send) : send(sent)
    },
    request,
    enter,
    signUp: bind('POST', '/signup'),
    /** @param {Login<Schemas['SignUpConfirmation']>} body */
    confirmSignUp: (body) => enter('/signup/confirm', body),
    /** @param {Login<Schemas['Credentials']>} body */
    logIn: (body) => enter('/login', body),
    requestLoginCode: bind('POST', '/login/code'),
    /** @param {Login<Schemas['LoginCodeConfirmation']>} body */
    confirmLoginCode: (body) => enter('/login/code/confirm', body),
    /** @param {Login<Schemas['SecondFactor']>} body */
    secondFactor: (body) => enter('/login/secondfactor', body),
    stepUp: bind('POST', '/login/stepup'),
    logOut,
    profile: bind('GET', '/profile'),
    updateProfile: bind('PUT', '/profile'),
    confirmEmail: bind('POST', '/profile/confirmemail'),
    /** @param {Schemas['PasswordChange']} body */
    async changePassword(body) {
      keep(
        await call('PUT', '/profile/password', body, {
          by: byToken,
          credentials: credentialsFor(session.read()?.refreshBy),
        }),
      )
    },
    /** @param {Schemas['AccountDeletion']} body */
    async deleteAccount(body) {
      await request('POST', '/profile/delete', body)
      session.forget('logged-out')
    },
    requestReset: bind('POST', '/login/resetrequest'),
    confirmReset: bind('POST', '/login/confirmcode'),
    resetPassword: bind('POST', '/login/resetpassword'),
    /** Ends the timers and the listeners of this client, and no session. */
    close: () => session.close(),
  }
}

/**
 * A browser takes and sends the cookie of another origin only with credentials; the server refuses one beside another token.
 * @param {Saved['refreshBy']} [refreshBy]
 */
const credentialsFor = (refreshBy) => (refreshBy === 'cookie' ? 'include' : 'omit')

/** @param {string} token */
const bearer = (token) => ({ authorization: `Bearer ${token}` })
