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

/** Where a client keeps its session. */
export type Kind = 'cookie' | 'storage' | 'memory'
