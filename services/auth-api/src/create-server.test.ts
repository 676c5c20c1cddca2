import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createServer } from './create-server.ts'

const REQUEST_TIMEOUT_MS = 300

let server: ReturnType<typeof createServer>
let socket: Socket
/** The body of `/slow`; its response ends with it. */
let body: PassThrough
let requests: number
beforeEach(async () => {
  requests = 0
  body = new PassThrough()
  const logger = createLogger('auth-api', 'silent')
  server = createServer({
    trustedProxies: [],
    logger,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    checkIntervalMs: 20,
  })
  server.addHook('onRequest', async () => void requests++)
  server.get('/slow', (_request, reply) => reply.type('text/plain').send(body))
  server.get('/pending', async () => text(body))
  server.post('/echo', async (request) => request.body)
  await server.listen({ host: '127.0.0.1', port: 0 })
  socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
})
afterEach(async () => {
  socket.destroy()
  await server.close()
})

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const RUBBISH = 'RUBBISH\r\n\r\n'

describe('rubbish after a request', () => {
  it('does not enter the body that is being sent', async () => {
    socket.write(get('/slow'))
    body.write('the first half, ')
    await once(socket, 'readable')
    const received = text(socket)
    socket.write(RUBBISH.repeat(3))
    // Answered by another connection, so the server has read the rubbish.
    await fetch(new URL('/nowhere', server.listeningOrigin))
    body.end('the second half')
    const [head = '', chunks = ''] = (await received).split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1.1 200 OK/)
    expect('10\r\nthe first half, \r\nf\r\nthe second half\r\n0').toContain(chunks)
  })
})

describe('a request that does not arrive', () => {
  it.each([
    { what: 'headers', sent: 'GET / HTTP/1.1\r\nHost: x\r\n' },
    {
      what: 'body',
      sent: 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    },
  ])('is answered 408 at the request timeout: $what', async ({ sent }) => {
    socket.write(sent)
    expect(await text(socket)).toMatch(/^HTTP\/1.1 408 Request Timeout\r\nConnection: close/)
  })
})

it('gives a request 30 seconds for its headers and its body together, and a second more at most', () => {
  const { server } = createServer({ trustedProxies: [], logger: createLogger('auth-api', 'silent') })
  expect(server).toMatchObject({
    requestTimeout: 30_000,
    headersTimeout: 30_000,
    connectionsCheckingInterval: 1_000,
  })
})
