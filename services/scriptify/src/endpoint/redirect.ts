import type { EndpointRequest } from './parse-request.ts'

const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** What was meant for one server is not shown to another. */
const FOR_ONE_ORIGIN = /^(authorization|cookie|proxy-authorization|host)$/i
const OF_THE_BODY = /^content-/i

export const isRedirect = (status: number | undefined, location: string | undefined): location is string =>
  location !== undefined && REDIRECTS.has(status ?? 0)

/** The request that a redirect asks for (RFC 9110 §15.4); undefined where the location is nothing to call. */
export function redirected(
  request: EndpointRequest,
  status: number,
  location: string,
): EndpointRequest | undefined {
  const url = URL.parse(location, request.url.href)
  if (!url || !/^https?:$/.test(url.protocol)) return undefined
  // A server does not choose as whom we log in.
  url.username = ''
  url.password = ''
  url.hash = ''
  // As every browser does: a POST that is answered with 301 or 302 goes on as GET.
  const becomesGet =
    status === 303
      ? !/^(GET|HEAD)$/.test(request.method)
      : (status === 301 || status === 302) && request.method === 'POST'
  const isElsewhere = url.origin !== request.url.origin
  return {
    method: becomesGet ? 'GET' : request.method,
    url,
    body: becomesGet ? undefined : request.body,
    headers: new Map(
      [...request.headers].filter(
        ([name]) => !(isElsewhere && FOR_ONE_ORIGIN.test(name)) && !(becomesGet && OF_THE_BODY.test(name)),
      ),
    ),
  }
}
