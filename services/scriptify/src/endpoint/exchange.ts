import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CliError, EXIT } from '../io/cli-error.ts'
import type { EndpointRequest } from './parse-request.ts'
import { isRedirect, redirected } from './redirect.ts'
import { toCliError } from './to-cli-error.ts'

export interface ExchangeOptions {
  /** The number of redirects to follow; undefined returns a redirect like any other response. */
  maxRedirects: number | undefined
  /** Time from the first request to the last byte of the body. */
  timeoutMs: number
  /** The environment that names the proxies. */
  proxyEnv: NodeJS.ProcessEnv
  /** Called with each response, redirects included, before its body is read. */
  onResponse(response: IncomingMessage): void
}

export interface Exchange {
  response: IncomingMessage
  /** Awaits the reader of the body, then closes the connection; a broken connection becomes a CliError. */
  finish<Result>(reading: Promise<Result>): Promise<Result>
}

/** Sends a request and follows redirects, if requested; throws a CliError (7 no response, 28 timeout). */
export async function exchange(first: EndpointRequest, options: ExchangeOptions): Promise<Exchange> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  let request = first
  for (let redirects = 0; ; redirects++) {
    const { origin } = request.url
    const explain = (error: unknown): never => {
      throw toCliError(error, { origin, hasTimedOut: signal.aborted, timeoutMs: options.timeoutMs })
    }
    const { response, close } = await send(request, { signal, proxyEnv: options.proxyEnv }).catch(explain)
    options.onResponse(response)
    const { statusCode = 0, headers } = response
    if (options.maxRedirects === undefined || !isRedirect(statusCode, headers.location))
      return { response, finish: (reading) => reading.catch(explain).finally(close) }
    close()
    if (redirects === options.maxRedirects)
      throw new CliError(
        `${origin} redirects again after ${redirects} redirects: raise --max-redirects`,
        EXIT.failed,
      )
    const next = redirected(request, statusCode, headers.location)
    if (!next) throw new CliError(`${origin} redirects to what is not an HTTP address`, EXIT.failed)
    request = next
  }
}

interface Sent {
  response: IncomingMessage
  /** Closes the connection, which ends an upload that is still in progress. */
  close(): void
}

function send(
  { method, url, headers, body }: EndpointRequest,
  { signal, proxyEnv }: { signal: AbortSignal; proxyEnv: NodeJS.ProcessEnv },
): Promise<Sent> {
  const client = url.protocol === 'https:' ? https : http
  const bytes = body?.open()
  if (body && !bytes)
    throw new CliError(
      'The redirect needs the body again, but a pipe can be read once only: use a file',
      EXIT.failed,
    )
  return new Promise((resolve, reject) => {
    const agent = new client.Agent({ proxyEnv })
    const outgoing = client.request(url, { method, agent, signal })
    // A later error is ignored: a server may answer, and close the connection, before it has the whole body.
    outgoing
      .once('response', (response) => resolve({ response, close: () => void outgoing.destroy() }))
      .on('error', reject)
    for (const [name, values] of headers)
      outgoing.setHeader(name, values.length === 1 ? values.join() : values)
    if (!bytes || !body) outgoing.end()
    else upload(bytes, body.length, outgoing).catch(reject)
  })
}

async function upload(bytes: Readable, length: number | undefined, outgoing: ClientRequest): Promise<void> {
  if (length === undefined) outgoing.setHeader('Transfer-Encoding', 'chunked')
  else outgoing.setHeader('Content-Length', length)
  await pipeline(bytes, outgoing)
}
