import { once } from 'node:events'
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { describeFault } from './describe-fault.ts'
import type { EndpointRequest } from './parse-request.ts'
import { isRedirect, redirected } from './redirect.ts'

/** As curl does. */
const UNASKED_BYTES = 1024 ** 2
const ASKING_MS = 1000

export interface ExchangeOptions {
  /** How many redirects are followed; undefined: they are answers like any other. */
  maxRedirects: number | undefined
  /** From the first request to the last byte. */
  timeoutMs: number
  /** Called with each answer, redirects included, before its body is read. */
  onAnswer(response: IncomingMessage): void
}

export interface Answer {
  response: IncomingMessage
  /** Waits for what reads the body, and ends the connection; one that breaks becomes a CliError. */
  whole<Result>(reading: Promise<Result>): Promise<Result>
}

/** Sends a request and follows redirects if that is wished; throws a CliError (7 no answer, 28 out of time). */
export async function exchange(first: EndpointRequest, options: ExchangeOptions): Promise<Answer> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  let request = first
  for (let redirects = 0; ; redirects++) {
    const { origin } = request.url
    const explain = (error: unknown): never => {
      throw describeFault(error, { origin, isLate: signal.aborted, timeoutMs: options.timeoutMs })
    }
    const { response, close } = await send(request, signal).catch(explain)
    options.onAnswer(response)
    const { statusCode = 0, headers } = response
    if (options.maxRedirects === undefined || !isRedirect(statusCode, headers.location))
      return { response, whole: (reading) => reading.catch(explain).finally(close) }
    close()
    if (redirects === options.maxRedirects)
      throw new CliError(`${origin} redirects once more after ${redirects} redirects`, EXIT.failed)
    const next = redirected(request, statusCode, headers.location)
    if (!next) throw new CliError(`${origin} redirects to what is not an HTTP address`, EXIT.failed)
    request = next
  }
}

interface Sent {
  response: IncomingMessage
  /** Also ends the sending of a body that nobody waits for any more. */
  close(): void
}

function send({ method, url, headers, body }: EndpointRequest, signal: AbortSignal): Promise<Sent> {
  const client = url.protocol === 'https:' ? https : http
  const bytes = body?.open()
  if (body && !bytes)
    throw new CliError('The redirect wants the body again, and a pipe is read once: use a file', EXIT.failed)
  return new Promise((resolve, reject) => {
    const agent = new client.Agent({ proxyEnv: process.env })
    const outgoing = client.request(url, { method, agent, signal })
    // An error counts for nothing once there is an answer: a server may refuse a body before it has it all.
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
  if ((length ?? Number.POSITIVE_INFINITY) > UNASKED_BYTES && !(await isWanted(outgoing))) return
  await pipeline(bytes, outgoing)
}

/**
 * Asks before a long body is sent (RFC 9110 §10.1.1): who refuses it closes the connection while it is on its way, and
 * the refusal itself would be lost. A server that does not know the question gets the body after a moment.
 */
async function isWanted(outgoing: ClientRequest): Promise<boolean> {
  outgoing.setHeader('Expect', '100-continue')
  const answered = once(outgoing, 'response').then(() => false)
  const asked = once(outgoing, 'continue').then(() => true)
  outgoing.flushHeaders()
  return Promise.race([answered, asked, sleep(ASKING_MS, true, { ref: false })])
}
