import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createServer } from './create-server.ts'

const REQUEST_TIMEOUT_MS = 300
const CONNECTION_TIMEOUT_MS = 400
/** More than the kernel buffers of a connection take. */
const LARGE_BYTES = 32 * 2 ** 20

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
    connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
  })
  server.addHook('onRequest', async () => void requests++)
  server.get('/slow', (_request, reply) => reply.type('text/plain').send(body))
  server.get('/pending', async () => text(body))
  const large = Buffer.alloc(LARGE_BYTES)
  server.get('/large', (_request, reply) => reply.send(large))
  server.post('/echo', async (request) => request.body)
  await server.listen({ host: '127.0.0.1', port: 0 })
  socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
})
afterEach(async () => {
  socket.destroy()
  await server.close()
})

const get = (path: string, connection = 'keep-alive') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n\r\n`
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

describe('a response that the client does not read', () => {
  const connections = () =>
    new Promise<number>((resolve) => server.server.getConnections((_error, count) => resolve(count)))

  it('is closed when it makes no progress', async () => {
    socket.pause()
    socket.write(get('/large'))
    await expect.poll(() => requests).toBe(1)
    expect(await connections()).toBe(1)
    await expect.poll(connections).toBe(0)
  })

  it('lets 32 further requests wait, which are answered in their order', async () => {
    socket.write(get('/slow') + get('/nowhere').repeat(31) + get('/', 'close'))
    await expect.poll(() => requests).toBe(33)
    const received = text(socket)
    body.end()
    const statuses = (await received).match(/HTTP\/1.1 \d+/g)
    expect(statuses).toEqual(['HTTP/1.1 200', ...Array(32).fill('HTTP/1.1 404')])
  })

  it('is closed, and nothing more is computed for it, when one request more waits', async () => {
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => undefined)
    socket.write(get('/slow') + get('/nowhere').repeat(2_000))
    await closed
    expect(requests).toBe(33)
    body.end()
  })

  it('counts the requests that wait, not those that were answered', async () => {
    for (let round = 0; round < 3; round++) {
      socket.write(get('/nowhere').repeat(20))
      await expect.poll(() => requests).toBe(20 * (round + 1))
      await fetch(new URL('/nowhere', server.listeningOrigin))
      requests -= 1
    }
    expect(socket.destroyed).toBe(false)
  })
})

it('gives a request 30 seconds for its headers and its body together, and a response a minute without progress', () => {
  const { server } = createServer({ trustedProxies: [], logger: createLogger('auth-api', 'silent') })
  expect(server).toMatchObject({
    requestTimeout: 30_000,
    headersTimeout: 30_000,
    connectionsCheckingInterval: 1_000,
    timeout: 60_000,
    keepAliveTimeout: 72_000,
  })
})
