import type { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createRequestCounter } from './request-counter.ts'

const counter = () => createRequestCounter({ windowMs: 60_000, unlessPaused: (work) => work() })

it('counts each event at once', () => {
  const { count } = counter()
  expect([count('a'), count('b'), count('a')].map(({ current }) => current)).toEqual([1, 1, 2])
})

it('begins again when the window ends', () => {
  const { count } = counter()
  const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
  try {
    expect(count('key')).toEqual({ current: 1, retryAfterSeconds: 60 })
    now.mockReturnValue(1_059_999)
    expect(count('key')).toEqual({ current: 2, retryAfterSeconds: 1 })
    now.mockReturnValue(1_060_000)
    expect(count('key')).toEqual({ current: 1, retryAfterSeconds: 60 })
  } finally {
    now.mockRestore()
  }
})

it('remembers an address among tens of thousands', () => {
  const { count } = counter()
  count('attacker')
  for (let key = 0; key < 20_000; key++) count(`invented-${key}`)
  expect(count('attacker').current).toBe(2)
})

describe('an exchange with Redis', () => {
  /** A counter, and what Redis holds; `isUp` says whether it answers. */
  function aCounter() {
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    onTestFinished(() => now.mockRestore())
    const counts = new Map<string, number>()
    const pipelines: unknown[][] = []
    const state = { isUp: true, isBroken: false, leftMs: 60_000 }
    const faults: unknown[] = []
    const pipeline = () => {
      const commands: [key: string, amount: number, windowMs: number][] = []
      return {
        eval: (_script: string, _keys: number, ...given: [string, number, number]) => commands.push(given),
        async exec() {
          pipelines.push(commands)
          if (!state.isUp) throw new Error('unavailable')
          return commands.map(([key, amount]) => {
            counts.set(key, (counts.get(key) ?? 0) + amount)
            return state.isBroken ? [new Error('broken')] : [null, [counts.get(key), state.leftMs]]
          })
        },
      }
    }
    const counter = createRequestCounter({
      windowMs: 60_000,
      // A client has hundreds of methods, of which the counter uses this one.
      redis: { pipeline } as unknown as Redis,
      unlessPaused: (work) => work().catch((error) => void faults.push(error)),
    })
    return { ...counter, now, counts, pipelines, state, faults }
  }

  it('adds what was counted here, once, and learns what others have counted', async () => {
    const { count, exchange, counts, pipelines } = aCounter()
    count('a')
    count('a')
    count('b')
    counts.set('latchkey-limit-requests:a', 5)
    await exchange()
    expect(pipelines).toEqual([
      [
        ['latchkey-limit-requests:a', 2, 60_000],
        ['latchkey-limit-requests:b', 1, 60_000],
      ],
    ])
    await exchange()
    expect(pipelines, 'when nothing has changed').toHaveLength(1)
    expect([count('a').current, count('b').current]).toEqual([8, 2])
    await exchange()
    expect([...counts.values()]).toEqual([8, 2])
  })

  it('keeps what this process knows when Redis is emptied', async () => {
    const { count, exchange, counts } = aCounter()
    for (let each = 0; each < 3; each++) count('a')
    await exchange()
    counts.clear()
    count('a')
    await exchange()
    expect(count('a').current).toBe(5)
  })

  it('takes the end of a window from the replica where it began, and no later one', async () => {
    const { count, exchange, state } = aCounter()
    state.leftMs = 90_000
    count('a')
    await exchange()
    expect(count('a').retryAfterSeconds).toBe(60)
    state.leftMs = 10_000
    await exchange()
    expect(count('a').retryAfterSeconds).toBe(10)
  })

  it.each([
    ['isUp', 'unavailable'],
    ['isBroken', 'broken'],
  ] as const)('is made up for when it fails: %s', async (fault, reason) => {
    const { count, exchange, counts, state, faults } = aCounter()
    count('a')
    state[fault] = !state[fault]
    await exchange()
    expect(faults).toEqual([new Error(reason)])
    state[fault] = !state[fault]
    counts.clear()
    await exchange()
    expect([...counts.values()]).toEqual([1])
    expect(count('a').current).toBe(2)
  })

  it('leaves out what belongs to a window that has ended', async () => {
    const { count, exchange, counts, state, now } = aCounter()
    count('a')
    now.mockReturnValue(1_060_000)
    await exchange()
    expect([...counts]).toEqual([])
    state.isUp = false
    count('b')
    const pending = exchange()
    now.mockReturnValue(1_120_000)
    count('b')
    await pending
    state.isUp = true
    await exchange()
    expect([...counts.values()]).toEqual([1])
  })

  it('sends many keys in several pipelines', async () => {
    const { count, exchange, pipelines } = aCounter()
    for (let key = 0; key < 1_001; key++) count(`key ${key}`)
    await exchange()
    expect(pipelines.map(({ length }) => length)).toEqual([500, 500, 1])
  })

  it('is none without Redis', async () => {
    const { count, exchange } = counter()
    count('a')
    await expect(exchange()).resolves.toBeUndefined()
  })
})
