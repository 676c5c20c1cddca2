import { createHmac } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import Fastify from 'fastify'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Config } from '../config.ts'
import { createClients } from '../http/client.ts'
import { createCounterFactory } from './counters.ts'
import { createAccountKey } from './limit-keys.ts'
import { createLimits } from './limits.ts'
import { createRequestLimiter } from './request-limiter.ts'

const logger = { info: () => undefined, warn: () => undefined }

/** The limits of one process, in memory. */
const limitsOf = (given: Partial<Config['limits']> = {}) =>
  createLimits(
    {
      limits: {
        requestsPerMinute: 0,
        failuresPerMinute: 2,
        waitingAttempts: 0,
        mailRequests: 2,
        ...given,
      },
    },
    { secret: new Uint8Array(64), limitStore: undefined, logger },
  )

const from = (address: string) => ({ address, hasLeft: () => false })
const HERE = from('192.0.2.1')
const wrong = () => Promise.reject(new AppError('invalid_credentials', 'wrong'))

/** Returns the answer to an attempt: `allowed`, its error code, or the seconds after which to try again. */
const outcomeOf = (attempt: Promise<unknown>): Promise<string | number | undefined> =>
  attempt.then(
    () => 'allowed',
    (error) => (error.code === 'rate_limited' ? error.retryAfterSeconds : error.code),
  )

/** Stops the clock until the test ends. */
function stopClock(): { pass(seconds: number): void } {
  const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000_000)
  onTestFinished(() => now.mockRestore())
  return { pass: (seconds) => void now.mockReturnValue(Date.now() + seconds * 1000) }
}

describe('a counter', () => {
  it('begins its window with an event, not with a question, and again when the window has ended', async () => {
    const clock = stopClock()
    const counter = createCounterFactory(undefined, logger)('failures', 60)
    expect(await counter.read('key')).toMatchObject({ count: 0 })
    clock.pass(30)
    expect(await counter.count('key')).toEqual({ count: 1, retryAfterSeconds: 60 })
    clock.pass(59)
    expect(await counter.count('key')).toEqual({ count: 2, retryAfterSeconds: 1 })
    clock.pass(1)
    expect(await counter.read('key')).toMatchObject({ count: 0 })
    expect(await counter.count('key')).toEqual({ count: 1, retryAfterSeconds: 60 })
  })

  it('remembers a key among tens of thousands, and not among any number', async () => {
    const counter = createCounterFactory(undefined, logger)('failures', 60)
    await counter.count('victim')
    for (let key = 0; key < 20_000; key++) await counter.count(`invented-${key}`)
    expect(await counter.read('victim')).toMatchObject({ count: 1 })
    for (let key = 0; key < 100_000; key++) await counter.count(`further-${key}`)
    expect(await counter.read('victim')).toMatchObject({ count: 0 })
  })
})

describe('the requests of an address', () => {
  it('are refused beyond the limit until the minute has passed', async () => {
    const clock = stopClock()
    const limitRequest = createRequestLimiter(undefined, 2)
    expect([await outcomeOf(limitRequest(HERE)), await outcomeOf(limitRequest(HERE))]).toEqual([
      'allowed',
      'allowed',
    ])
    clock.pass(20)
    expect(await outcomeOf(limitRequest(HERE))).toBe(40)
    expect(await outcomeOf(limitRequest(from('192.0.2.2')))).toBe('allowed')
    clock.pass(40)
    expect(await outcomeOf(limitRequest(HERE))).toBe('allowed')
  })

  it('are forgotten, the oldest first, when there are too many addresses', async () => {
    const limitRequest = createRequestLimiter(undefined, 1)
    await limitRequest(HERE)
    for (let host = 0; host < 100_000; host++)
      await limitRequest(from(`10.${host >> 16}.${(host >> 8) & 255}.${host & 255}`))
    expect(await outcomeOf(limitRequest(HERE))).toBe('allowed')
  })
})

describe('failures', () => {
  it('refuse further attempts until the minute has passed', async () => {
    const clock = stopClock()
    const { limitLogin } = limitsOf()
    expect(await outcomeOf(limitLogin(HERE, 'ada', wrong))).toBe('invalid_credentials')
    expect(await outcomeOf(limitLogin(HERE, 'bob', wrong))).toBe('invalid_credentials')
    expect(await outcomeOf(limitLogin(HERE, 'eve', wrong))).toBe(60)
    clock.pass(60)
    expect(await outcomeOf(limitLogin(HERE, 'eve', wrong))).toBe('invalid_credentials')
  })

  it('refuse an account until the last of its limits ends, and not from an address without a failure', async () => {
    const clock = stopClock()
    const { limitLogin } = limitsOf()
    const guess = (host: number, account = 'ada') =>
      outcomeOf(limitLogin(from(`192.0.2.${host}`), account, wrong))
    await guess(1, 'bob')
    clock.pass(20)
    for (const host of [1, 2]) await guess(host)
    expect(await guess(1), 'until the failure for this account is forgotten').toBe(60)
    expect(await guess(2)).toBe(60)
    expect(await guess(3)).toBe('invalid_credentials')
    clock.pass(40)
    expect(await guess(1), 'when the address may try again').toBe(20)
  })

  it('are those of the given codes only', async () => {
    const { limitLogin } = limitsOf()
    for (const error of [new AppError('overloaded', 'later'), new TypeError('broken')])
      for (let each = 0; each < 3; each++)
        await expect(limitLogin(HERE, 'ada', () => Promise.reject(error))).rejects.toBe(error)
    expect(await outcomeOf(limitLogin(HERE, 'ada', async () => undefined))).toBe('allowed')
  })

  it.each([0, 3])('of concurrent attempts are no more than of others, after %i failures', async (earlier) => {
    const { limitLogin } = limitsOf({ failuresPerMinute: 5, waitingAttempts: 100 })
    const guess = (account: number) =>
      outcomeOf(limitLogin(HERE, `account ${account}`, () => setImmediate().then(wrong)))
    for (let account = 0; account < earlier; account++) await guess(account)
    const outcomes = await Promise.all(Array.from({ length: 40 }, (_, index) => guess(100 + index)))
    expect(outcomes.filter((outcome) => outcome === 'invalid_credentials')).toHaveLength(5 - earlier)
  })

  it('let one attempt more wait than the address may still fail, and no further one', async () => {
    const { limitLogin } = limitsOf({ waitingAttempts: 1 })
    const gate = Promise.withResolvers<void>()
    const attempts = ['a', 'b', 'c', 'd'].map((account) =>
      outcomeOf(limitLogin(HERE, account, () => gate.promise)),
    )
    expect(await attempts[3]).toBe('overloaded')
    gate.resolve()
    expect(await Promise.all(attempts.slice(0, 3))).toEqual(['allowed', 'allowed', 'allowed'])
  })
})

describe('codes of second factors', () => {
  it('are a hundred a day from strangers together', async () => {
    const clock = stopClock()
    const { limitFactors } = limitsOf({ failuresPerMinute: 0 })
    const guess = (host: number) =>
      outcomeOf(
        limitFactors(
          from(`198.51.100.${host}`),
          { userid: 'ada', purpose: 'login', challenge: undefined, isGuessable: true },
          () => Promise.reject(new AppError('second_factor_refused', 'wrong')),
        ),
      )
    for (let host = 0; host < 100; host++) expect(await guess(host)).toBe('second_factor_refused')
    expect(await guess(100)).toBe(86_400)
    clock.pass(86_399)
    expect(await guess(101)).toBe(1)
    clock.pass(1)
    expect(await guess(102)).toBe('second_factor_refused')
  })
})

describe('a login', () => {
  it('is that of a known client after a success from its address', async () => {
    const { limitLogin } = limitsOf()
    const trustOf = async (ip: string, account: string) =>
      (await limitLogin(from(ip), account, async (client) => client)).trust
    await expect(limitLogin(HERE, 'ada', wrong)).rejects.toThrow('wrong')
    expect(await trustOf('192.0.2.1', 'ada')).toBe('other')
    expect(await trustOf('192.0.2.1', 'Ada')).toBe('known')
    expect(await trustOf('192.0.2.2', 'ada')).toBe('other')
    expect(await trustOf('192.0.2.1', 'bob')).toBe('other')
  })

  it('has been left once its connection is closed', async () => {
    await using app = Fastify()
    const { limitLogin } = limitsOf()
    const trail = { report: () => undefined, write: async () => undefined }
    const { clientOf } = createClients(trail, { hash: async () => '' })
    const begun = Promise.withResolvers<HashClient>()
    const gate = Promise.withResolvers<void>()
    // Also where the test fails: the server closes after its last answer.
    using _answer = { [Symbol.dispose]: () => gate.resolve() }
    app.get('/', (request) =>
      limitLogin(clientOf(request), 'ada', (client) => {
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
})

describe('reset requests', () => {
  const asking = () => {
    const { limitResets, limitLogin } = limitsOf()
    const ask = (ip: string, account = 'ada') => outcomeOf(limitResets(from(ip), account))
    return { ask, logIn: (ip: string) => limitLogin(from(ip), 'ada', async () => undefined) }
  }

  it('are limited a minute for an address', async () => {
    const clock = stopClock()
    const { ask } = asking()
    for (const account of ['a', 'b']) expect(await ask('192.0.2.1', account)).toBe('allowed')
    expect(await ask('192.0.2.1', 'c')).toBe(60)
    clock.pass(60)
    expect(await ask('192.0.2.1', 'd')).toBe('allowed')
  })

  it('are limited an hour for an account, but for one of each further address up to three times the limit', async () => {
    const clock = stopClock()
    const { ask } = asking()
    for (let each = 0; each < 2; each++) expect(await ask('192.0.2.1')).toBe('allowed')
    clock.pass(60)
    expect(await ask('192.0.2.1'), 'the same address again').toBe(3540)
    for (const host of [2, 3, 4, 5]) expect(await ask(`192.0.2.${host}`)).toBe('allowed')
    expect(await ask('192.0.2.2'), 'a further one, again').toBe(3540)
    expect(await ask('192.0.2.6'), 'beyond the ceiling').toBe(3540)
    clock.pass(3540)
    expect(await ask('192.0.2.6'), 'in the next hour').toBe('allowed')
  })

  it('that are refused beyond the ceiling use up nothing of the next hour', async () => {
    const clock = stopClock()
    const { ask } = asking()
    for (const host of [1, 1, 2, 3, 4, 5]) await ask(`192.0.2.${host}`)
    clock.pass(3000)
    expect(await ask('192.0.2.6')).toBe(600)
    clock.pass(600)
    for (let each = 0; each < 2; each++) expect(await ask('192.0.2.7')).toBe('allowed')
    expect(await ask('192.0.2.6')).toBe('allowed')
  })

  it('of a known address have a limit that others cannot spend', async () => {
    const clock = stopClock()
    const { ask, logIn } = asking()
    await logIn('192.0.2.9')
    for (const host of [1, 1, 2, 3, 4, 5]) await ask(`192.0.2.${host}`)
    expect(await ask('192.0.2.6'), 'an unknown address').toBe(3600)
    for (let each = 0; each < 2; each++) expect(await ask('192.0.2.9')).toBe('allowed')
    clock.pass(60)
    expect(await ask('192.0.2.9')).toBe(3540)
  })

  it('are granted one by one when they arrive at the same time', async () => {
    const { ask } = asking()
    for (let each = 0; each < 2; each++) await ask('192.0.2.1')
    const allowed = async (ips: readonly string[]) =>
      (await Promise.all(ips.map((ip) => ask(ip)))).filter((outcome) => outcome === 'allowed').length
    expect(await allowed(['192.0.2.2', '192.0.2.2'])).toBe(1)
    expect(await allowed(Array.from({ length: 8 }, (_, host) => `198.51.100.${host}`))).toBe(3)
  })
})

describe('the key of an account', () => {
  it('is a keyed hash, whatever the case of the name', () => {
    const [key, other] = [createAccountKey(new Uint8Array(64)), createAccountKey(new Uint8Array(64).fill(1))]
    expect(key('Ada@Example.com')).toBe(key('ada@example.com'))
    // No other part of Latchkey has this key, and so no hash of the same value.
    const ownKey = createHmac('sha256', new Uint8Array(64)).update('latchkey rate limit').digest()
    expect(key('ada@example.com')).toBe(
      createHmac('sha256', ownKey).update('ada@example.com').digest('base64url'),
    )
    expect(key('ada@example.com')).not.toBe(key('bob@example.com'))
    expect(key('ada@example.com')).not.toBe(other('ada@example.com'))
  })
})
