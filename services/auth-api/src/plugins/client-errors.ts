import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import fp from 'fastify-plugin'
import { createRequestId } from '../request-id.ts'
import { fromStatus, type Problem } from './problem-details.ts'
import { STATUS_CODES } from './status-codes.ts'

/** The statuses of Node's HTTP server for these errors; any other request that cannot be parsed is a 400. */
const STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

/** Node has no public name for the response that is being written to a socket. */
type ServerSocket = Socket & { _httpMessage?: ServerResponse | null }

/**
 * Answers what Node cannot parse as a request, with the headers and the problem body of every other refusal, and closes
 * the connection. The responses of complete requests before it are sent first.
 */
export function createClientErrorHandler(logger: Pick<FastifyBaseLogger, 'debug'>) {
  // Node reports a socket again with each further byte that it receives.
  const refused = new WeakSet<Socket>()

  return ({ code = '' }: NodeJS.ErrnoException, socket: ServerSocket): void => {
    if (code === 'ECONNRESET') return void socket.destroy()
    if (refused.has(socket)) return
    refused.add(socket)
    const id = createRequestId()
    const problem = fromStatus(STATUS[code] ?? 400, code)
    // Not the error itself: it contains the bytes that were sent, which may include a token.
    logger.debug({ reqId: id, errorCode: code, status: problem.status }, 'refused an invalid HTTP request')
    closeWith(toResponse(problem, id), socket)
  }
}

/** Writes `response` once no other response is being written, or due to a complete request. */
function closeWith(response: string, socket: ServerSocket): void {
  const earlier = socket._httpMessage
  if (earlier && (earlier.headersSent || earlier.req.complete)) {
    earlier.once('close', () => closeWith(response, socket))
    return
  }
  if (socket.writable) socket.write(response)
  socket.destroySoon()
}

function toResponse(problem: Problem, id: string): string {
  const body = JSON.stringify({ ...problem, instance: id })
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'Connection: close',
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${id}`,
    'X-Content-Type-Options: nosniff',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Handles what Node would answer with a bare status: a request without `Host`, and an unknown `Expect`. */
export const ownRefusals = fp(
  async (app) => {
    app.addHook('onRequest', ({ headers, raw }, _reply, done) => {
      if (headers.host !== undefined || raw.httpVersion !== '1.1') return done()
      // RFC 9112 §3.2.
      done(Object.assign(new Error('No Host header'), { statusCode: 400, code: 'HOST_MISSING' }))
    })
    // A server may ignore it (RFC 9110 §10.1.1).
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  },
  { name: 'own-refusals' },
)
