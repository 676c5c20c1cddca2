import { CliError, EXIT } from '../io/cli-error.ts'
import { DEFAULT_HEADERS, type EndpointRequest } from './parse-request.ts'
import { toCliError } from './to-cli-error.ts'

export interface ExchangeOptions {
  /** True where a redirect is followed; else it is a response like any other. */
  follow: boolean
  /** Time from the first request to the last byte of the body. */
  timeoutMs: number
  /** Called with each response, redirects included, before its body is read. */
  onResponse(response: Response): void
}

export interface Exchange {
  response: Response
  /** Awaits the reader of the body; a broken connection becomes a CliError. */
  read<Result>(reading: Promise<Result>): Promise<Result>
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** The number of redirects that browsers follow. */
const MAX_REDIRECTS = 20

/** Sends a request and follows redirects, if requested; throws a CliError (7 no response, 28 timeout). */
export async function exchange(
  first: EndpointRequest,
  { follow, timeoutMs, onResponse }: ExchangeOptions,
): Promise<Exchange> {
  const signal = AbortSignal.timeout(timeoutMs)
  let request = first
  for (let redirects = 0; ; redirects++) {
    const { origin } = request.url
    const read = <Result>(reading: Promise<Result>): Promise<Result> =>
      reading.catch((error) => {
        throw toCliError(error, { origin, hasTimedOut: signal.aborted, timeoutMs })
      })
    const response = await read(
      fetch(request.url, { ...request, body: request.body ?? null, signal, redirect: 'manual' }),
    )
    onResponse(response)
    const location = locationOf(response)
    if (!follow || location === undefined) return { response, read }
    await response.body?.cancel()
    if (redirects === MAX_REDIRECTS)
      throw new CliError(`${origin} redirects again after ${redirects} redirects`, EXIT.failed)
    request = redirected(request, response.status, location)
  }
}

/** Returns the target of a redirect, as the server wrote it; undefined for a response that does not redirect. */
export const locationOf = ({ status, headers }: Response): string | undefined =>
  REDIRECTS.has(status) ? (headers.get('location') ?? undefined) : undefined

/** The request that a redirect asks for (RFC 9110 §15.4). The headers and the body were given for one origin only. */
function redirected(request: EndpointRequest, status: number, location: string): EndpointRequest {
  const { origin } = request.url
  const url = URL.parse(location, request.url.href)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new CliError(`${origin} redirects to an address that is not HTTP`, EXIT.failed)
  // A server must not choose the credentials.
  url.username = ''
  url.password = ''
  // As in browsers, 301 and 302 turn a POST into a GET.
  const becomesGet = status === 303 ? request.method !== 'HEAD' : status < 303 && request.method === 'POST'
  const method = becomesGet ? 'GET' : request.method
  const body = becomesGet ? undefined : request.body
  if (body && url.origin !== origin)
    throw new CliError(
      `${origin} redirects the body to ${url.origin}: send it there yourself, if that server may have it`,
      EXIT.failed,
    )
  const headers = new Headers(url.origin === origin ? request.headers : DEFAULT_HEADERS)
  if (becomesGet)
    for (const name of [...headers.keys()]) if (name.startsWith('content-')) headers.delete(name)
  return { method, url, body, headers }
}
