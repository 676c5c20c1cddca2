import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import { describe, expect, it, vi } from 'vitest'
import { openCounters } from './counters.ts'

describe('counters in memory', () => {
  it('remember a key among tens of thousands', async () => {
    await using app = Fastify()
    const createCounter = await openCounters(app, undefined)
    const counter = createCounter('failures', 60_000)
    const request = await aRequest(app)
    await counter.count(request, 'victim')
    for (let key = 0; key < 20_000; key++) await counter.count(request, `invented-${key}`)
    expect(await counter.read(request, 'victim')).toMatchObject({ current: 1 })
  })

  it('give each of forty concurrent events its own number', async () => {
    await using app = Fastify()
    const counter = (await openCounters(app, undefined))('failures', 60_000)
    const request = await aRequest(app)
    const counted = await Promise.all(Array.from({ length: 40 }, () => counter.count(request, 'key')))
    expect(counted.map(({ current }) => current)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
  })

  it('begin a window with an event, and not when they are read', async () => {
    await using app = Fastify()
    const counter = (await openCounters(app, undefined))('failures', 60_000)
    const request = await aRequest(app)
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    try {
      expect(await counter.read(request, 'key')).toEqual({ current: 0, retryAfterSeconds: 1 })
      now.mockReturnValue(1_030_000)
      expect(await counter.count(request, 'key')).toEqual({ current: 1, retryAfterSeconds: 60 })
    } finally {
      now.mockRestore()
    }
  })

  it('begin again when the window ends', async () => {
    await using app = Fastify()
    const counter = (await openCounters(app, undefined))('failures', 60_000)
    const request = await aRequest(app)
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    try {
      await counter.count(request, 'key')
      now.mockReturnValue(1_059_999)
      expect(await counter.count(request, 'key')).toEqual({ current: 2, retryAfterSeconds: 1 })
      now.mockReturnValue(1_060_000)
      expect(await counter.read(request, 'key')).toMatchObject({ current: 0 })
      expect(await counter.count(request, 'key')).toEqual({ current: 1, retryAfterSeconds: 60 })
    } finally {
      now.mockRestore()
    }
  })
})

describe('counters in Redis', () => {
  type Callback = (error: Error | null, result?: [current: number, ttlMs: number]) => void

  /** Redis as @fastify/rate-limit uses it: two scripts, which count by a key. */
  function aRedis() {
    const counts = new Map<string, number>()
    const state = { isUp: true, isAsked: 0, ttlMs: 30_000 }
    const answer = (done: Callback, current: number) => {
      state.isAsked++
      if (state.isUp) done(null, [current, current === 0 ? 0 : state.ttlMs])
      else done(new Error('unavailable'))
    }
    return {
      counts,
      state,
      rateLimit(key: string, ...rest: unknown[]) {
        counts.set(key, (counts.get(key) ?? 0) + 1)
        answer(rest.at(-1) as Callback, counts.get(key) ?? 0)
      },
      rateLimitRead: (key: string, done: Callback) => answer(done, counts.get(key) ?? 0),
    }
  }

  /** The plugin puts the route between the two, of which there is none. */
  const keyIn = (counts: ReadonlyMap<string, number>, key: string) =>
    [...counts.keys()].find((each) => /^latchkey-limit-/.test(each) && each.endsWith(`-failures:${key}`)) ??
    ''

  async function aCounter() {
    const lines: { level: number; msg: string; reason?: string }[] = []
    const app = Fastify({ logger: { stream: { write: (line) => void lines.push(JSON.parse(line)) } } })
    const redis = aRedis()
    // A client has hundreds of methods, of which the plugin uses these.
    const counter = (await openCounters(app, redis as unknown as Redis))('failures', 60_000)
    const request = await aRequest(app)
    lines.length = 0
    return { app, redis, counter, request, lines }
  }

  it('count what all replicas have counted, by name and key', async () => {
    const { app, redis, counter, request, lines } = await aCounter()
    expect(await counter.read(request, 'ada')).toEqual({ current: 0, retryAfterSeconds: 1 })
    expect(lines, 'what was logged').toEqual([])
    expect(await counter.count(request, 'ada')).toEqual({ current: 1, retryAfterSeconds: 30 })
    redis.counts.set(keyIn(redis.counts, 'ada'), 6)
    expect(await counter.count(request, 'ada')).toEqual({ current: 7, retryAfterSeconds: 30 })
    expect(await counter.read(request, 'ada')).toEqual({ current: 7, retryAfterSeconds: 30 })
    expect(await counter.count(request, 'bob')).toMatchObject({ current: 1 })
    expect([...redis.counts.values()]).toEqual([7, 1])
    redis.state.ttlMs = 1
    expect(await counter.read(request, 'ada')).toEqual({ current: 7, retryAfterSeconds: 1 })
    await app.close()
  })

  it('count the keys of one request apart, however many are in flight', async () => {
    const { app, redis, counter, request } = await aCounter()
    await Promise.all(['ada', 'bob', 'ada'].map((key) => counter.count(request, key)))
    expect(redis.counts.get(keyIn(redis.counts, 'ada'))).toBe(2)
    await app.close()
  })

  it('count on when Redis is emptied', async () => {
    const { app, redis, counter, request } = await aCounter()
    for (let each = 0; each < 3; each++) await counter.count(request, 'ada')
    redis.counts.clear()
    expect(await counter.count(request, 'ada')).toMatchObject({ current: 4 })
    await app.close()
  })

  it('count in memory while Redis is unavailable, and ask it again after a second', async () => {
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    const { app, redis, counter, request, lines } = await aCounter()
    try {
      redis.state.isUp = false
      expect(await counter.count(request, 'ada')).toEqual({ current: 1, retryAfterSeconds: 60 })
      expect(await counter.count(request, 'ada')).toMatchObject({ current: 2 })
      now.mockReturnValue(1_000_999)
      await counter.count(request, 'ada')
      expect(redis.state.isAsked).toBe(1)
      now.mockReturnValue(1_001_000)
      await counter.count(request, 'ada')
      expect(redis.state.isAsked).toBe(2)
      expect(
        lines.map(({ level }) => level),
        'warned once',
      ).toEqual([40])
      expect(lines[0]?.reason).toContain('unavailable')

      redis.state.isUp = true
      now.mockReturnValue(1_002_000)
      for (let each = 0; each < 2; each++) await counter.count(request, 'ada')
      expect(redis.state.isAsked).toBe(4)
      expect(
        lines.map(({ level }) => level),
        'and told once that it is back',
      ).toEqual([40, 30])
      redis.state.isUp = false
      await counter.count(request, 'ada')
      expect(
        lines.map(({ level }) => level),
        'and warned again',
      ).toEqual([40, 30, 40])
    } finally {
      now.mockRestore()
      await app.close()
    }
  })
})

async function aRequest(app: FastifyInstance): Promise<FastifyRequest> {
  const { promise, resolve } = Promise.withResolvers<FastifyRequest>()
  app.get('/', async (request) => resolve(request))
  await app.inject('/')
  return promise
}
