import { AppError } from '@latchkey/shared/app-error.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { describe, expect, it } from 'vitest'
import { crossOrigin } from '../cross-origin.ts'
import { openCounters } from './counters.ts'
import { limitRequests } from './limit-requests.ts'
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
  await app.register(limitRequests, { createCounter: await openCounters(app, undefined), requestsPerMinute })
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
