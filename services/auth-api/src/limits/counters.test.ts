import Fastify from 'fastify'
import type { Redis } from 'ioredis'
import { describe, expect, it, vi } from 'vitest'
import { openCounters } from './counters.ts'
import { createRedisPause } from './redis-pause.ts'

describe('counters in memory', () => {
  it('remember a key among tens of thousands', async () => {
    const createCounter = openCounters(undefined, createRedisPause(Fastify().log))
    const counter = createCounter('failures', 60_000)
    await counter.count('victim')
    for (let key = 0; key < 20_000; key++) await counter.count(`invented-${key}`)
    expect(await counter.read('victim')).toMatchObject({ current: 1 })
  })

  it('give each of forty concurrent events its own number', async () => {
    const counter = openCounters(undefined, createRedisPause(Fastify().log))('failures', 60_000)
    const counted = await Promise.all(Array.from({ length: 40 }, () => counter.count('key')))
    expect(counted.map(({ current }) => current)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
  })

  it('begin a window with an event, and not when they are read', async () => {
    const counter = openCounters(undefined, createRedisPause(Fastify().log))('failures', 60_000)
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    try {
      expect(await counter.read('key')).toEqual({ current: 0, retryAfterSeconds: 1 })
      now.mockReturnValue(1_030_000)
      expect(await counter.count('key')).toEqual({ current: 1, retryAfterSeconds: 60 })
    } finally {
      now.mockRestore()
    }
  })

  it('begin again when the window ends', async () => {
    const counter = openCounters(undefined, createRedisPause(Fastify().log))('failures', 60_000)
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    try {
      await counter.count('key')
      now.mockReturnValue(1_059_999)
      expect(await counter.count('key')).toEqual({ current: 2, retryAfterSeconds: 1 })
      now.mockReturnValue(1_060_000)
      expect(await counter.read('key')).toMatchObject({ current: 0 })
      expect(await counter.count('key')).toEqual({ current: 1, retryAfterSeconds: 60 })
    } finally {
      now.mockRestore()
    }
  })
})

describe('counters in Redis', () => {
  /** Redis as far as the counters use it: a script that counts, or reads, several keys. */
  function aRedis() {
    const counts = new Map<string, number>()
    const state = { isUp: true, commands: [] as string[][], ttlMs: 30_000 }
    return {
      counts,
      state,
      async eval(_script: string, keyCount: number, ...rest: (string | number)[]) {
        const keys = rest.slice(0, keyCount).map(String)
        state.commands.push(keys)
        if (!state.isUp) throw new Error('unavailable')
        return keys.flatMap((key, index) => {
          const isCounted = Number(rest[keyCount + index]) > 0
          if (isCounted) counts.set(key, (counts.get(key) ?? 0) + 1)
          const count = counts.get(key) ?? 0
          return [count, count === 0 ? 0 : state.ttlMs]
        })
      },
    }
  }

  const keyOf = (key: string) => `latchkey-limit-undefinedundefined-failures:${key}`

  function aCounter() {
    const lines: { level: number; msg: string; reason?: string }[] = []
    const { log } = Fastify({ logger: { stream: { write: (line) => void lines.push(JSON.parse(line)) } } })
    const redis = aRedis()
    // A client has hundreds of methods, of which the counters use one.
    const counter = openCounters(redis as unknown as Redis, createRedisPause(log))('failures', 60_000)
    return { redis, counter, lines }
  }

  it('count what all replicas have counted, by name and key', async () => {
    const { redis, counter, lines } = aCounter()
    expect(await counter.read('ada')).toEqual({ current: 0, retryAfterSeconds: 1 })
    expect(lines, 'what was logged').toEqual([])
    expect(await counter.count('ada')).toEqual({ current: 1, retryAfterSeconds: 30 })
    redis.counts.set(keyOf('ada'), 6)
    expect(await counter.count('ada')).toEqual({ current: 7, retryAfterSeconds: 30 })
    expect(await counter.read('ada')).toEqual({ current: 7, retryAfterSeconds: 30 })
    expect(await counter.count('bob')).toMatchObject({ current: 1 })
    expect([...redis.counts.values()]).toEqual([7, 1])
    redis.state.ttlMs = 1
    expect(await counter.read('ada')).toEqual({ current: 7, retryAfterSeconds: 1 })
  })

  it('count keys apart, however many are in flight', async () => {
    const { redis, counter } = aCounter()
    await Promise.all(['ada', 'bob', 'ada'].map((key) => counter.count(key)))
    expect(redis.counts.get(keyOf('ada'))).toBe(2)
  })

  it('ask Redis once for all that is asked in one turn of the event loop, in the order of the questions', async () => {
    const { redis, counter } = aCounter()
    const counted = await Promise.all([counter.count('ada'), counter.read('ada'), counter.count('bob')])
    expect(counted.map(({ current }) => current)).toEqual([1, 1, 1])
    expect(redis.state.commands).toEqual([['ada', 'ada', 'bob'].map(keyOf)])
    for (const length of [600, 250])
      await Promise.all(Array.from({ length }, (_, index) => counter.read(`key ${index}`)))
    expect(redis.state.commands.slice(1).map(({ length }) => length)).toEqual([250, 250, 100, 250])
  })

  it('count on when Redis is emptied', async () => {
    const { redis, counter } = aCounter()
    for (let each = 0; each < 3; each++) await counter.count('ada')
    redis.counts.clear()
    expect(await counter.count('ada')).toMatchObject({ current: 4 })
  })

  it('count in memory while Redis is unavailable, and ask it again after a second', async () => {
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    const { redis, counter, lines } = aCounter()
    try {
      redis.state.isUp = false
      expect(await counter.count('ada')).toEqual({ current: 1, retryAfterSeconds: 60 })
      expect(await counter.count('ada')).toMatchObject({ current: 2 })
      now.mockReturnValue(1_000_999)
      await counter.count('ada')
      expect(redis.state.commands.length).toBe(1)
      now.mockReturnValue(1_001_000)
      await counter.count('ada')
      expect(redis.state.commands.length).toBe(2)
      expect(
        lines.map(({ level }) => level),
        'warned once',
      ).toEqual([40])
      expect(lines[0]?.reason).toContain('unavailable')

      redis.state.isUp = true
      now.mockReturnValue(1_002_000)
      for (let each = 0; each < 2; each++) await counter.count('ada')
      expect(redis.state.commands.length).toBe(4)
      expect(
        lines.map(({ level }) => level),
        'and told once that it is back',
      ).toEqual([40, 30])
      redis.state.isUp = false
      await counter.count('ada')
      expect(
        lines.map(({ level }) => level),
        'and warned again',
      ).toEqual([40, 30, 40])
    } finally {
      now.mockRestore()
    }
  })
})
