import { createHmac } from 'node:crypto'
import { AppError } from '@latchkey/shared/app-error.ts'
import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import Fastify, { type FastifyRequest } from 'fastify'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { CreateCounter } from './counters.ts'
import { createFailureLimiter } from './failure-limiter.ts'
import { createKnownClients } from './known-clients.ts'
import { addressKey, createAccountKey } from './limit-keys.ts'
import { createLoginLimiter } from './login-limiter.ts'
import { createMemoryCounter } from './memory-counter.ts'
import { isWithinLimit, type RecentFailures, secondsUntilAllowed } from './recent-failures.ts'
import { createResetLimiter } from './reset-limiter.ts'

const accountKey = (account: string) => account
const createCounter: CreateCounter = (_name, windowMs) => {
  const count = createMemoryCounter(windowMs)
  return { count: async (key) => count(key, true), read: async (key) => count(key, false) }
}

/** A request from this address. */
async function from(remoteAddress: string): Promise<FastifyRequest> {
  await using app = Fastify()
  const { promise, resolve } = Promise.withResolvers<FastifyRequest>()
  app.get('/', async (request) => resolve(request))
  await app.inject({ url: '/', remoteAddress })
  return promise
}

/** Stops the clock until the test ends. */
function stopClock(): { pass(ms: number): void } {
  const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000_000)
  onTestFinished(() => now.mockRestore())
  return { pass: (ms) => void now.mockReturnValue(Date.now() + ms) }
}

const KEYS = { address: 'address', account: 'account', pair: 'pair' }
const counted = (address: number, account: number, pair: number): RecentFailures => ({
  address: { current: address, retryAfterSeconds: 11 },
  account: { current: account, retryAfterSeconds: 22 },
  pair: { current: pair, retryAfterSeconds: 33 },
})

describe('an attempt', () => {
  it.each([
    { failures: counted(2, 2, 2), begins: true },
    { failures: counted(3, 0, 0), begins: false },
    { failures: counted(2, 3, 0), begins: true, why: 'the first of its address for a spent account' },
    { failures: counted(2, 3, 1), begins: false },
    { failures: counted(2, 2, 0), earlier: { address: 1 }, begins: false },
    { failures: counted(0, 2, 1), earlier: { account: 1 }, begins: false },
    { failures: counted(0, 3, 0), earlier: { pair: 1 }, begins: false },
    { failures: counted(0, 0, 0), earlier: { address: 2, account: 3 }, begins: true },
  ])('begins ($begins) after $failures and $earlier in progress', ({ failures, earlier = {}, begins }) => {
    expect(isWithinLimit(failures, KEYS, new Map(Object.entries(earlier)), 3)).toBe(begins)
  })

  it.each([
    { failures: counted(2, 2, 2), seconds: 0 },
    { failures: counted(3, 2, 2), seconds: 11 },
    { failures: counted(2, 3, 2), seconds: 33 },
    { failures: counted(3, 3, 2), seconds: 33 },
  ])('is allowed again after $seconds s', ({ failures, seconds }) => {
    expect(secondsUntilAllowed(failures, 3)).toBe(seconds)
  })
})

describe('failures', () => {
  const failure = () => Promise.reject(new AppError('invalid_credentials', 'wrong'))
  const limiter = (waitingLogins = 0) =>
    createFailureLimiter({
      name: 'test',
      failures: ['invalid_credentials'],
      createCounter,
      accountKey,
      failedLoginsPerMinute: 2,
      waitingLogins,
    })

  it('are given to the attempt, and refuse it from the limit on until the minute has passed', async () => {
    const clock = stopClock()
    const limit = limiter()
    const request = await from('192.0.2.1')
    const run = () => limit(request, 'ada', async (failed) => failed?.address.current)
    expect(await run()).toBe(0)
    await expect(limit(request, 'ada', failure)).rejects.toMatchObject({ code: 'invalid_credentials' })
    expect(await run()).toBe(1)
    await expect(limit(request, 'bob', failure)).rejects.toMatchObject({ code: 'invalid_credentials' })
    await expect(run()).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 60 })
    clock.pass(60_000)
    expect(await run()).toBe(0)
  })

  it('are those of its code only', async () => {
    const limit = limiter()
    const request = await from('192.0.2.1')
    for (const error of [new AppError('overloaded', 'later'), new TypeError('broken')])
      for (let each = 0; each < 3; each++)
        await expect(limit(request, 'ada', () => Promise.reject(error))).rejects.toBe(error)
    expect(await limit(request, 'ada', async (failed) => failed?.address.current)).toBe(0)
  })

  it('let one attempt more wait than the address may still fail, and no further one', async () => {
    const limit = limiter(1)
    const request = await from('192.0.2.1')
    const gate = Promise.withResolvers<void>()
    const attempts = ['a', 'b', 'c', 'd'].map((account) =>
      limit(request, account, () => gate.promise.then(() => account)),
    )
    const settled = Promise.allSettled(attempts)
    await expect(attempts[3]).rejects.toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 })
    gate.resolve()
    expect((await settled).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
    ])
  })

  it('are not counted without a limit', async () => {
    const limit = createFailureLimiter({
      name: 'test',
      failures: ['invalid_credentials'],
      createCounter: () => {
        throw new Error('No counter is needed')
      },
      accountKey,
      failedLoginsPerMinute: 0,
      waitingLogins: 0,
    })
    const failures = await limit(await from('192.0.2.1'), 'ada', async (failed) => [failed])
    expect(failures).toEqual([undefined])
  })
})

function aLoginLimiter() {
  const knownClients = createKnownClients(createCounter, accountKey)
  const rest = { failedLoginsPerMinute: 5, waitingLogins: 0 }
  return { limit: createLoginLimiter({ createCounter, accountKey, knownClients, ...rest }), knownClients }
}

describe('a login', () => {
  it('is new, known after a success from its address, and failed after a failure', async () => {
    const { limit, knownClients } = aLoginLimiter()
    const [here, there] = [await from('192.0.2.1'), await from('192.0.2.2')]
    const wrong = () => Promise.reject(new AppError('invalid_credentials', 'wrong'))
    const logIn = (request: FastifyRequest, account = 'ada') =>
      limit(request, account, async (client) => client)
    expect(await logIn(here)).toMatchObject({ address: '192.0.2.1', trust: 'new' })
    expect(await logIn(here)).toMatchObject({ address: '192.0.2.1', trust: 'known' })
    expect(await logIn(there)).toMatchObject({ address: '192.0.2.2', trust: 'new' })
    expect(await logIn(here, 'bob')).toMatchObject({ trust: 'new' })
    await expect(limit(here, 'eve', wrong)).rejects.toThrow('wrong')
    expect(await logIn(here)).toMatchObject({ trust: 'failed' })
    expect(await knownClients.has(here, 'eve')).toBe(false)
  })

  it('is known for 30 days', async () => {
    const clock = stopClock()
    const known = createKnownClients(createCounter, accountKey)
    const request = await from('192.0.2.1')
    await known.remember(request, 'ada')
    clock.pass(30 * 24 * 60 * 60 * 1000 - 1)
    expect(await known.has(request, 'ada')).toBe(true)
    clock.pass(1)
    expect(await known.has(request, 'ada')).toBe(false)
  })
})

it('a login has been left once its connection is closed', async () => {
  await using app = Fastify()
  const { limit } = aLoginLimiter()
  const begun = Promise.withResolvers<HashClient>()
  const gate = Promise.withResolvers<void>()
  // Also where the test fails: the server closes after its last answer.
  using _answer = { [Symbol.dispose]: () => gate.resolve() }
  app.get('/', (request) =>
    limit(request, 'ada', (client) => {
      begun.resolve(client)
      return gate.promise
    }),
  )
  const leaving = new AbortController()
  const answer = fetch(await app.listen(), { signal: leaving.signal })
  const client = await begun.promise
  expect(client.hasLeft?.()).toBe(false)
  leaving.abort()
  await expect(answer).rejects.toThrow()
  await expect.poll(() => client.hasLeft?.()).toBe(true)
})

describe('reset requests', () => {
  /** Asks for a reset of one account: true, or the seconds after which to ask again. */
  async function asking(resetRequests: number, create = createCounter) {
    const knownClients = createKnownClients(createCounter, accountKey)
    const limit = createResetLimiter({
      name: 'reset',
      createCounter: create,
      accountKey,
      knownClients,
      resetRequests,
    })
    const ask = async (address: string, account = 'ada'): Promise<true | number | undefined> => {
      try {
        await limit(await from(address), account)
        return true
      } catch (error) {
        if (error instanceof AppError && error.code === 'rate_limited') return error.retryAfterSeconds
        throw error
      }
    }
    return { ask, knownClients }
  }

  it('are limited a minute for an address', async () => {
    const clock = stopClock()
    const { ask } = await asking(2)
    expect([await ask('192.0.2.1', 'a'), await ask('192.0.2.1', 'b'), await ask('192.0.2.1', 'c')]).toEqual([
      true,
      true,
      60,
    ])
    clock.pass(60_000)
    expect(await ask('192.0.2.1', 'd')).toBe(true)
  })

  it('are limited an hour for an account, but for one of each further address up to three times the limit', async () => {
    const clock = stopClock()
    const { ask } = await asking(2)
    expect([await ask('192.0.2.1'), await ask('192.0.2.1')]).toEqual([true, true])
    clock.pass(60_000)
    expect(await ask('192.0.2.1'), 'the same address again').toBe(3540)
    for (const address of ['192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5'])
      expect(await ask(address), address).toBe(true)
    expect(await ask('192.0.2.2'), 'a further one, again').toBe(3540)
    expect(await ask('192.0.2.6'), 'beyond the ceiling').toBe(3540)
    clock.pass(3_540_000)
    expect(await ask('192.0.2.6'), 'in the next hour').toBe(true)
  })

  it('have a limit of their own from a known address', async () => {
    const clock = stopClock()
    const { ask, knownClients } = await asking(2)
    await knownClients.remember(await from('192.0.2.9'), 'ada')
    for (const address of ['1', '1', '2', '3', '4', '5']) await ask(`192.0.2.${address}`)
    expect(await ask('192.0.2.6'), 'an unknown address').toBe(3600)
    expect([await ask('192.0.2.9'), await ask('192.0.2.9')]).toEqual([true, true])
    clock.pass(60_000)
    expect(await ask('192.0.2.9')).toBe(3540)
  })

  it('are granted one by one when they arrive at the same time', async () => {
    stopClock()
    const { ask } = await asking(2)
    await ask('192.0.2.1')
    await ask('192.0.2.1')
    const same = await Promise.all(Array.from({ length: 2 }, () => ask('192.0.2.2')))
    expect(same.filter((each) => each === true)).toHaveLength(1)
    const others = await Promise.all(Array.from({ length: 8 }, (_, each) => ask(`198.51.100.${each}`)))
    expect(others.filter((each) => each === true)).toHaveLength(3)
  })

  it('that are refused do not count for the account, whose hour may have begun on another replica', async () => {
    const counted: string[] = []
    const { ask } = await asking(2, (name, windowMs) => {
      const counter = createCounter(name, windowMs)
      return {
        ...counter,
        count(key) {
          counted.push(name)
          return counter.count(key)
        },
      }
    })
    for (const address of ['1', '1', '2', '3', '4', '5']) await ask(`192.0.2.${address}`)
    counted.length = 0
    expect(await ask('192.0.2.2'), 'again').toBeTypeOf('number')
    expect(await ask('192.0.2.6'), 'beyond the ceiling').toBeTypeOf('number')
    expect(counted).toEqual(['reset-address', 'reset-address'])
  })

  it('have no limit with 0', async () => {
    const { ask } = await asking(0)
    for (let each = 0; each < 20; each++) expect(await ask('192.0.2.1')).toBe(true)
  })
})

it('no two counters have one name: Redis would count them together', () => {
  const names: string[] = []
  const naming: CreateCounter = (name, windowMs) => {
    names.push(name)
    return createCounter(name, windowMs)
  }
  const knownClients = createKnownClients(naming, accountKey)
  const options = {
    createCounter: naming,
    accountKey,
    failedLoginsPerMinute: 1,
    waitingLogins: 0,
    knownClients,
  }
  createLoginLimiter(options)
  createFailureLimiter({ ...options, name: 'email-change', failures: [] })
  createResetLimiter({ ...options, name: 'reset', resetRequests: 1 })
  expect(names.toSorted()).toEqual([
    'email-change-account',
    'email-change-address',
    'email-change-pair',
    'known',
    'login-account',
    'login-address',
    'login-pair',
    'reset-account',
    'reset-address',
    'reset-pair',
  ])
})

describe('what a client counts as', () => {
  const keyOf = (ip: string | undefined) => addressKey({ ip } as FastifyRequest)

  it('is its IPv4 address, with or without a port', () => {
    expect([keyOf('192.0.2.1'), keyOf('192.0.2.1:4711')]).toEqual(['192.0.2.1', '192.0.2.1'])
    expect(keyOf('192.0.2.1:4711x')).not.toBe('192.0.2.1')
  })

  it('is its IPv6 network of 64 bits', () => {
    expect(keyOf('2001:db8:1:2:3:4:5:6')).toBe(keyOf('[2001:db8:1:2::9]:4711'))
    expect(keyOf('2001:db8:1:2::1')).not.toBe(keyOf('2001:db8:1:3::1'))
  })

  it('is one for all that have disconnected', () => {
    expect(keyOf(undefined)).toBe(keyOf(undefined))
    expect(keyOf(undefined)).not.toBe(keyOf('192.0.2.1'))
  })

  it('is a keyed hash of an account, whatever its case', () => {
    const [key, other] = [createAccountKey(new Uint8Array(64)), createAccountKey(new Uint8Array(64).fill(1))]
    expect(key('Ada@Example.com')).toBe(key('ada@example.com'))
    expect(key('ada@example.com')).toMatch(/^[\w-]{43}$/)
    // A key of its own, so that it is no hash that another part of Latchkey makes of the same secret.
    const ownKey = createHmac('sha256', new Uint8Array(64)).update('latchkey rate limit').digest()
    expect(key('ada@example.com')).toBe(
      createHmac('sha256', ownKey).update('ada@example.com').digest('base64url'),
    )
    expect(key('ada@example.com')).not.toBe(key('bob@example.com'))
    expect(key('ada@example.com')).not.toBe(other('ada@example.com'))
  })
})
