import type { paths } from '@latchkey/client/types/openapi.d.ts'
import type { Client, ClientPathsWithMethod, MaybeOptionalInit, MethodResponse } from 'openapi-fetch'

type Api = Client<paths>
type Method = 'get' | 'put' | 'post' | 'delete'
type Path<M extends Method> = ClientPathsWithMethod<Api, M>
// Not inferred from the call, as openapi-fetch does: a body with a member that the API does not know is a fault.
type Init<P extends keyof paths, M extends Method> = MaybeOptionalInit<paths[P], M>
type Call<M extends Method> = <P extends Path<M>>(
  path: P,
  ...init: undefined extends Init<P, M> ? [Init<P, M>?] : [Init<P, M>]
) => Promise<{ data: MethodResponse<Api, M, P> }>

/** The client of the API, each call of which resolves with data: a refusal is thrown. */
export interface ThrowingClient extends Pick<Api, 'use'> {
  GET: Call<'get'>
  PUT: Call<'put'>
  POST: Call<'post'>
  DELETE: Call<'delete'>
}
