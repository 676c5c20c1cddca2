import { AppError } from '@latchkey/shared/app-error.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { crossOrigin } from '../plugins/cross-origin.ts'
import { limitRequests } from './limit-requests.ts'
import { createRequestCounter } from './request-counter.ts'
import { warnOfProxy } from './warn-of-proxy.ts'

const ORIGIN = 'https://app.example.com'

/** A service with the status and the Retry-After of an error, as `problem-details` sends them. */
async function build(requestsPerMinute: number): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(fp(async () => undefined, { name: 'problem-details' }))
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof AppError)) throw error
    return reply.code(429).header('retry-after', error.retryAfterSeconds).send(error.message)
  })
  await app.register(crossOrigin, { origins: [ORIGIN] })
  const counter = createRequestCounter({ windowMs: 60_000, unlessPaused: (work) => work() })
  await app.register(limitRequests, { counter, requestsPerMinute })
  app.get('/', async () => 'answer')
  app.options('/', async () => 'options')
  app.get('/live', { config: { isProbe: true } }, async () => 'alive')
  return app
}

describe('the requests of an address', () => {
  const preflight = { origin: ORIGIN, 'access-control-request-method': 'POST' }

  it.each<{
    what: string
    request: { method: 'GET' | 'OPTIONS'; url?: string; headers?: object }
    counts: boolean
  }>([
    { what: 'a request', request: { method: 'GET' }, counts: true },
    { what: 'a probe', request: { method: 'GET', url: '/live' }, counts: false },
    { what: 'a preflight', request: { method: 'OPTIONS', headers: preflight }, counts: false },
    {
      what: 'a preflight of another origin',
      request: { method: 'OPTIONS', headers: { ...preflight, origin: 'https://evil.example' } },
      counts: true,
    },
    {
      what: 'OPTIONS that ask for no method',
      request: { method: 'OPTIONS', headers: { origin: ORIGIN } },
      counts: true,
    },
    {
      what: 'a request with the headers of a preflight',
      request: { method: 'GET', headers: preflight },
      counts: true,
    },
  ])('are limited, $what: $counts', async ({ request, counts }) => {
    await using app = await build(2)
    const statuses = []
    for (let each = 0; each < 3; each++)
      statuses.push((await app.inject({ url: '/', ...request, headers: { ...request.headers } })).statusCode)
    expect(statuses).toEqual([200, 200, counts ? 429 : 200])
  })

  it('are counted apart from those of others, for a minute', async () => {
    await using app = await build(1)
    const get = (remoteAddress: string) => app.inject({ url: '/', remoteAddress })
    await get('192.0.2.1')
    const refused = await get('192.0.2.1')
    expect([refused.statusCode, refused.headers['retry-after'], refused.body]).toEqual([
      429,
      '60',
      'Too many requests; try again later',
    ])
    expect((await get('192.0.2.2')).statusCode).toBe(200)
  })

  it('have no limit with 0', async () => {
    await using app = await build(0)
    for (let each = 0; each < 5; each++) expect((await app.inject('/')).statusCode).toBe(200)
  })
})

describe('the counts of other replicas', () => {
  it('are exchanged again and again, one exchange at a time, until the service closes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const exchanges: PromiseWithResolvers<void>[] = []
    const exchange = () => {
      exchanges.push(Promise.withResolvers())
      return exchanges.at(-1)?.promise ?? Promise.resolve()
    }
    const end = async (index: number) => {
      exchanges[index]?.resolve()
      await vi.advanceTimersByTimeAsync(0)
    }
    const app = Fastify()
    await app.register(fp(async () => undefined, { name: 'problem-details' }))
    const counter = { count: () => ({ current: 1, retryAfterSeconds: 1 }), exchange }
    await app.register(limitRequests, { counter, requestsPerMinute: 1 })
    await vi.advanceTimersByTimeAsync(499)
    expect(exchanges).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(exchanges).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(exchanges, 'while the first one is pending').toHaveLength(1)
    await end(0)
    await vi.advanceTimersByTimeAsync(500)
    expect(exchanges).toHaveLength(2)
    await app.close()
    await end(1)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(exchanges, 'after the end').toHaveLength(2)
  })

  it('are not exchanged once a service that waits for the next time closes, nor without a limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    for (const requestsPerMinute of [1, 0]) {
      const app = Fastify()
      await app.register(fp(async () => undefined, { name: 'problem-details' }))
      const exchange = vi.fn(async () => undefined)
      const counter = { count: () => ({ current: 1, retryAfterSeconds: 1 }), exchange }
      await app.register(limitRequests, { counter, requestsPerMinute })
      if (requestsPerMinute > 0) await app.close()
      await vi.advanceTimersByTimeAsync(5_000)
      expect(exchange).not.toHaveBeenCalled()
      await app.close()
    }
  })
})

describe('a proxy', () => {
  async function warningsOf(headers: Record<string, string>, trustProxy: string | false = false) {
    const lines: { level: number; peer?: string }[] = []
    const stream = { write: (line: string) => void lines.push(JSON.parse(line)) }
    await using app = Fastify({ trustProxy, logger: { level: 'warn', stream } })
    await app.register(warnOfProxy)
    app.get('/', async () => 'answer')
    for (let each = 0; each < 2; each++)
      expect((await app.inject({ url: '/', headers, remoteAddress: '192.0.2.1' })).body).toBe('answer')
    return lines.map(({ peer }) => peer)
  }

  it('that is not trusted is warned of, once', async () => {
    expect(await warningsOf({ 'x-forwarded-for': '198.51.100.1' })).toEqual(['192.0.2.1'])
    expect(await warningsOf({ 'x-forwarded-for': '198.51.100.1' }, '10.0.0.0/8')).toHaveLength(1)
  })

  it('that is trusted, or absent, is not', async () => {
    expect(await warningsOf({ 'x-forwarded-for': '198.51.100.1' }, '192.0.2.1')).toEqual([])
    expect(await warningsOf({})).toEqual([])
  })
})
