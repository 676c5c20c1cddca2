import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import fp from 'fastify-plugin'
import { fromStatus, type Problem } from './problem-details.ts'

/** The statuses of Node's HTTP server for these errors; any other request that cannot be parsed is a 400. */
const STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

/**
 * Answers what Node cannot parse as a request, with the headers and the problem body of every other refusal, and closes
 * the connection. Where a response has been written to it, nothing more is: the client would take it for a part of that.
 */
export function createClientErrorHandler(logger: Pick<FastifyBaseLogger, 'debug'>) {
  return ({ code = '' }: NodeJS.ErrnoException, socket: Socket): void => {
    if (code === 'ECONNRESET') return void socket.destroy()
    const id = randomUUID()
    const problem = fromStatus(STATUS[code] ?? 400, code)
    // The error itself is not logged: it contains the bytes that were sent, which may include a token.
    logger.debug({ reqId: id, errorCode: code, status: problem.status }, 'refused an invalid HTTP request')
    if (socket.writable && socket.bytesWritten === 0) socket.write(toResponse(problem, id))
    socket.destroySoon()
  }
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
    'Cache-Control: no-store',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Answers a request without `Host` with a problem, and ignores an unknown `Expect`: Node answers both with a bare status. */
export const nodeRefusals = fp(
  async (app) => {
    app.addHook('onRequest', ({ headers, raw }, _reply, done) => {
      if (headers.host !== undefined || raw.httpVersion !== '1.1') return done()
      // RFC 9112 §3.2.
      done(Object.assign(new Error('No Host header'), { statusCode: 400, code: 'HOST_MISSING' }))
    })
    // A server may ignore it (RFC 9110 §10.1.1).
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  },
  { name: 'node-refusals' },
)
