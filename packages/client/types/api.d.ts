import type { LatchkeyError } from '../src/error.js'
import type { components, paths } from './openapi.d.ts'

/** The requests and the answers of the API, by the names of its description. */
export type Schemas = components['schemas']

type Verbs = { GET: 'get'; POST: 'post'; PUT: 'put'; DELETE: 'delete' }
export type Method = keyof Verbs

type Described<M extends Method> = {
  [P in keyof paths]: paths[P][Verbs[M]] extends { responses: unknown } ? P : never
}[keyof paths]
type Filled<P extends string> = P extends `${infer A}{${string}}${infer Z}` ? `${A}${string}${Z}` : P
/** A path of the API, with its parameters filled in. */
export type Path<M extends Method> = Filled<Described<M>>
type Operation<M extends Method, P extends string> = {
  [D in Described<M>]: P extends Filled<D> ? paths[D][Verbs[M]] : never
}[Described<M>]

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : undefined
type Body<O> = O extends { requestBody: infer B }
  ? Json<B>
  : Json<O extends { requestBody?: infer B } ? B : never> | undefined
type Success<R> = { [S in keyof R & (200 | 201 | 202 | 204)]: Json<R[S]> }[keyof R & (200 | 201 | 202 | 204)]
type Answer<O> = O extends { responses: infer R } ? Success<R> : never

/** The arguments of a request: its body, unless it has none. */
type Given<O> = undefined extends Body<O> ? [body?: Body<O>] : [body: Body<O>]

/** Sends a request to the API; throws a `LatchkeyError` where it is refused or not answered. */
export type SendRequest = <M extends Method, const P extends Path<M>>(
  method: M,
  path: P,
  ...body: Given<Operation<M, P>>
) => Promise<Answer<Operation<M, P>>>

/** Returns the function that sends one kind of request. */
export type BindRequest = <M extends Method, const P extends Path<M>>(
  method: M,
  path: P,
) => (...body: Given<Operation<M, P>>) => Promise<Answer<Operation<M, P>>>

/** Who is logged in, as the newest token says. */
export type User = Schemas['Token']['data']

/** Why another user, or nobody, is logged in; `ended` is by the server. */
export type Reason = 'logged-in' | 'logged-out' | 'ended' | 'other-tab'

/** Calls for another user, or nobody. */
export type Listener = (user: User | undefined, change: { reason: Reason }) => void

/** The answer that begins a session, or goes on with it. */
export type IssuedToken = Schemas['Token'] & { refresh_token?: string; refresh_expires_at?: string }

/** The body of a request that completes a login; with `remember: false` the session ends with the page or the process. */
export type Login<Body> = Omit<Body, 'remember'> & { remember?: boolean }

/** Sends a `Request`, as `fetch` does. */
export type Send = (request: Request) => Promise<Response>

export interface Options {
  /** The address of the API, also below a path: `https://example.com/auth/`. */
  url: string | URL
  /**
   * Where a session is kept: its refresh token in an HttpOnly cookie, or in `localStorage`, for all tabs; or everything in
   * memory, for this page or process alone.
   */
  session: 'cookie' | 'storage' | 'memory'
  /** Other origins that get the token by `fetch`, such as that of your own API. */
  origins?: readonly string[]
  /** Confirms the login when a request needs it (RFC 9470). The request is sent again when it resolves. */
  onStepUp?: (challenge: LatchkeyError) => Promise<unknown>
  /** REFRESH_WINDOW of the server, for logins with `remember: false`. Default 300. */
  refreshWindowSeconds?: number
  /** Sends requests in place of the global `fetch`. */
  fetch?: Send
}

/** What is kept of a session. */
export interface Saved {
  /** The access token. */
  token: string
  /** When that expires, in milliseconds, by the clock of this machine. */
  expiresAt: number
  user: User
  /** What a refresh sends: a refresh token, or the access token alone. */
  refreshBy: 'body' | 'cookie' | 'bearer'
  refreshToken?: string | undefined
  /** True where all tabs have the session. */
  isShared: boolean
  /** When a refresh was last sent. */
  attemptedAt?: number
  /** How long no other one is sent after that. */
  pauseMs?: number
}

/** What a session needs of its client. */
export interface SessionOptions extends Pick<Required<Options>, 'session' | 'refreshWindowSeconds'> {
  /** The name of the session in the browser. */
  key: string
  /** Sends a refresh. */
  send: (session: Saved) => Promise<IssuedToken>
  onUser: (user: User | undefined, reason: Reason) => void
}

/** What a call of the API sends beside its body, and by what. */
export interface CallOptions {
  headers?: Record<string, string>
  credentials?: RequestCredentials
  by?: Send
}
