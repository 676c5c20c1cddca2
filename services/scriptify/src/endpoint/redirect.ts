import type { EndpointRequest } from './parse-request.ts'

const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** Headers that are meant for one server, and are not sent to another. */
const ORIGIN_HEADERS = /^(authorization|cookie|proxy-authorization|host)$/i
const BODY_HEADERS = /^content-/i

export const isRedirect = (status: number | undefined, location: string | undefined): location is string =>
  location !== undefined && REDIRECTS.has(status ?? 0)

/** The request that a redirect asks for (RFC 9110 §15.4); undefined for a location that is not an HTTP address. */
export function redirected(
  request: EndpointRequest,
  status: number,
  location: string,
): EndpointRequest | undefined {
  const url = URL.parse(location, request.url.href)
  if (!url || !/^https?:$/.test(url.protocol)) return undefined
  // A server must not choose the credentials.
  url.username = ''
  url.password = ''
  url.hash = ''
  // As in browsers, 301 and 302 turn a POST into a GET.
  const becomesGet =
    status === 303
      ? !/^(GET|HEAD)$/.test(request.method)
      : (status === 301 || status === 302) && request.method === 'POST'
  const isOtherOrigin = url.origin !== request.url.origin
  return {
    method: becomesGet ? 'GET' : request.method,
    url,
    body: becomesGet ? undefined : request.body,
    headers: new Map(
      [...request.headers].filter(
        ([name]) => !(isOtherOrigin && ORIGIN_HEADERS.test(name)) && !(becomesGet && BODY_HEADERS.test(name)),
      ),
    ),
  }
}
