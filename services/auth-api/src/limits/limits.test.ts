import { createHmac } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { AppError, type ErrorCode } from '@latchkey/shared/app-error.ts'
import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import type { RedisClient } from '@latchkey/shared/redis/open-redis.ts'
import Fastify from 'fastify'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Config } from '../config.ts'
import { openCounters } from './counters.ts'
import { addressKey, createAccountKey } from './limit-keys.ts'
import { createLimits } from './limits.ts'
import { createRequestLimiter } from './request-limiter.ts'

const logger = { info: () => undefined, warn: () => undefined }

/** The limits of one process, in memory unless there is Redis. */
const limitsOf = (given: Partial<Config['limits']> = {}, limitStore?: RedisClient) =>
  createLimits(
    {
      limits: {
        requestsPerMinute: 0,
        failedLoginsPerMinute: 2,
        waitingLogins: 0,
        resetRequests: 2,
        ...given,
      },
    },
    { secret: new Uint8Array(64), limitStore, logger },
  )

const from = (ip: string) => ({ ip, raw: { socket: { destroyed: false } } })
const HERE = from('192.0.2.1')
const wrong = () => Promise.reject(new AppError('invalid_credentials', 'wrong'))

/** What an attempt was answered: `allowed`, its error code, or the seconds after which to try again. */
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
    const counter = openCounters(undefined, logger)('failures', 60)
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
    const counter = openCounters(undefined, logger)('failures', 60)
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
    const { limitLogin } = limitsOf({ failedLoginsPerMinute: 5, waitingLogins: 100 })
    const guess = (account: number) =>
      outcomeOf(limitLogin(HERE, `account ${account}`, () => setImmediate().then(wrong)))
    for (let account = 0; account < earlier; account++) await guess(account)
    const outcomes = await Promise.all(Array.from({ length: 40 }, (_, index) => guess(100 + index)))
    expect(outcomes.filter((outcome) => outcome === 'invalid_credentials')).toHaveLength(5 - earlier)
  })

  it('let one attempt more wait than the address may still fail, and no further one', async () => {
    const { limitLogin } = limitsOf({ waitingLogins: 1 })
    const gate = Promise.withResolvers<void>()
    const attempts = ['a', 'b', 'c', 'd'].map((account) =>
      outcomeOf(limitLogin(HERE, account, () => gate.promise)),
    )
    expect(await attempts[3]).toBe('overloaded')
    gate.resolve()
    expect(await Promise.all(attempts.slice(0, 3))).toEqual(['allowed', 'allowed', 'allowed'])
  })

  it('limit one account from many addresses at once to less than twice its limit, and one from each', async () => {
    const { limitLogin } = limitsOf({ failedLoginsPerMinute: 5, waitingLogins: 100 })
    const guesses = Array.from({ length: 400 }, (_, index) =>
      outcomeOf(limitLogin(from(`198.51.100.${index % 40}`), 'ada', wrong)),
    )
    const failed = (await Promise.all(guesses)).filter((outcome) => outcome === 'invalid_credentials')
    expect(failed.length).toBeGreaterThanOrEqual(40)
    expect(failed.length).toBeLessThan(50)
  })

  it('are not counted with 0', async () => {
    const { limitLogin } = limitsOf({ failedLoginsPerMinute: 0 })
    for (let each = 0; each < 5; each++)
      expect(await outcomeOf(limitLogin(HERE, 'ada', wrong))).toBe('invalid_credentials')
  })
})

describe('codes of second factors', () => {
  it('are a hundred a day from strangers together', async () => {
    const clock = stopClock()
    const { limitFactors } = limitsOf({ failedLoginsPerMinute: 0 })
    const guess = (host: number) =>
      outcomeOf(
        limitFactors(
          from(`198.51.100.${host}`),
          { userid: 'ada', challenge: undefined, isGuessable: true },
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

describe('attempts that wait', () => {
  it('begin in the order of their arrival, as earlier ones end', async () => {
    const { limitLogin } = limitsOf({ failedLoginsPerMinute: 2, waitingLogins: 10 })
    const begun: number[] = []
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
    const all = gates.map((gate, index) =>
      limitLogin(HERE, `account ${index}`, () => {
        begun.push(index)
        return gate.promise
      }),
    )
    for (const [index, gate] of gates.entries()) {
      await expect.poll(() => begun).toEqual([0, 1, 2, 3, 4].slice(0, index + 2))
      gate.resolve()
    }
    await Promise.all(all)
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
    const begun = Promise.withResolvers<HashClient>()
    const gate = Promise.withResolvers<void>()
    // Also where the test fails: the server closes after its last answer.
    using _answer = { [Symbol.dispose]: () => gate.resolve() }
    app.get('/', (request) =>
      limitLogin(request, 'ada', (client) => {
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
  it('are not limited with 0', async () => {
    const { limitResets } = limitsOf({ resetRequests: 0 })
    for (let each = 0; each < 5; each++) expect(await outcomeOf(limitResets(HERE, 'ada'))).toBe('allowed')
  })

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

/** Redis as far as the limits use it: the library defines a command that adds events to a key. */
function aRedis() {
  const counts = new Map<string, number>()
  const known = new Map<string, number>()
  const state = { isUp: true }
  async function add([key = '', events]: string[]) {
    if (!state.isUp) throw new Error('away')
    counts.set(key, (counts.get(key) ?? 0) + Number(events))
    return [counts.get(key), 30_000]
  }
  const client: Record<string, unknown> = {
    status: 'ready',
    defineCommand(name: string) {
      client[name] = add
    },
    zscore: async (_key: string, member: string) => known.get(member)?.toString() ?? null,
    pipeline: () => ({
      zadd: (_key: string, score: number, member: string) => ({
        zremrangebyrank: () => ({ exec: async () => void known.set(member, score) }),
      }),
    }),
  }
  // A client has hundreds of methods, of which the limits use these.
  return { counts, state, redis: client as unknown as RedisClient }
}

describe('replicas with Redis', () => {
  it('count together, and forget nothing that they have counted when Redis is emptied', async () => {
    const { counts, redis } = aRedis()
    const [one, two] = [
      openCounters(redis, logger)('failures', 60),
      openCounters(redis, logger)('failures', 60),
    ]
    await one.count('key')
    expect(await two.count('key')).toEqual({ count: 2, retryAfterSeconds: 30 })
    expect(await one.read('key')).toEqual({ count: 2, retryAfterSeconds: 30 })
    expect([...counts]).toEqual([['latchkey-limit:failures:key', 2]])
    counts.clear()
    expect(await one.read('key')).toEqual({ count: 1, retryAfterSeconds: 60 })
  })

  it('count on their own while Redis fails, and say so once', async () => {
    const lines: string[] = []
    const { redis, state } = aRedis()
    state.isUp = false
    const counter = openCounters(redis, {
      info: (message) => void lines.push(message),
      warn: (details, message) => void lines.push(`${message} ${JSON.stringify(details)}`),
    })('failures', 60)
    await counter.count('key')
    expect(await counter.count('key')).toEqual({ count: 2, retryAfterSeconds: 60 })
    expect(lines).toEqual([
      'Redis is unavailable or slow: this process counts limits on its own {"reason":"away"}',
    ])
    state.isUp = true
    for (let each = 0; each < 2; each++) await counter.count('key')
    expect(lines.slice(1)).toEqual(['limits are counted in Redis again'])
  })

  it('refuse the requests of an address once all have reached the limit together', async () => {
    const { redis, state } = aRedis()
    const [one, two] = [createRequestLimiter(redis, 40), createRequestLimiter(redis, 40)]
    for (let each = 0; each < 40; each++) expect(await outcomeOf(one(HERE))).toBe('allowed')
    expect(await outcomeOf(two(HERE)), 'less than a twentieth').toBe('allowed')
    await two(HERE)
    // The report is not awaited.
    await setImmediate()
    expect(await outcomeOf(two(HERE))).toBe(30)
    state.isUp = false
    for (let each = 0; each < 40; each++) expect(await outcomeOf(two(from('192.0.2.2')))).toBe('allowed')
  })

  it('count each limit by keys that no other limit has', async () => {
    const { counts, redis } = aRedis()
    const { accountKey, limitRequest, limitLogin, ...others } = limitsOf({ requestsPerMinute: 20 }, redis)
    await limitRequest?.(HERE)
    await outcomeOf(limitLogin(HERE, 'ada', wrong))
    const {
      limitTakenEmails,
      limitCodes,
      limitFactors,
      limitResets,
      limitSignUps,
      limitEmailChanges,
      limitEmailChangesTo,
    } = others
    const fail = (code: ErrorCode) => () => Promise.reject(new AppError(code, 'refused'))
    await outcomeOf(limitTakenEmails(HERE, 'ada', fail('email_taken')))
    await outcomeOf(limitCodes(HERE, 'ada', fail('reset_refused')))
    const shown = { userid: 'ada', challenge: 'c', isGuessable: true }
    for (const refusal of ['second_factor_refused', 'passkey_refused'] as const)
      await outcomeOf(limitFactors(HERE, shown, fail(refusal)))
    for (const limit of [limitResets, limitSignUps, limitEmailChanges, limitEmailChangesTo])
      await limit(HERE, 'ada')
    const key = accountKey('ada')
    const three = (name: string, count = 1) => [
      [`latchkey-limit:${name}-account:${key}`, count],
      [`latchkey-limit:${name}-address:192.0.2.1`, count],
      [`latchkey-limit:${name}-pair:192.0.2.1 ${key}`, count],
    ]
    const names = ['code', 'email', 'email-change', 'email-change-to', 'login', 'reset', 'sign-up']
    expect([...counts].toSorted()).toEqual(
      [
        ...names.flatMap((name) => three(name)),
        ...three('factor', 2),
        [`latchkey-limit:factor-day:${key}`, 2],
        ['latchkey-limit:challenge:c', 2],
        ['latchkey-limit:requests:192.0.2.1', 1],
      ].toSorted(),
    )
  })

  it('do not count a reset request that is refused, but for its address', async () => {
    const { counts, redis } = aRedis()
    const { limitResets } = limitsOf({}, redis)
    const ask = (host: number) => outcomeOf(limitResets(from(`192.0.2.${host}`), 'ada'))
    const granted = () => [...counts].filter(([key, count]) => count > 0 && !key.includes('address'))
    const expectUncounted = async (host: number) => {
      const before = granted()
      expect(await ask(host)).toBe(30)
      expect(granted()).toEqual(before)
    }
    for (const host of [1, 1, 2]) expect(await ask(host)).toBe('allowed')
    await expectUncounted(2)
    for (const host of [3, 4, 5]) expect(await ask(host)).toBe('allowed')
    await expectUncounted(6)
  })

  it('know where users have logged in on another', async () => {
    const clock = stopClock()
    const { redis } = aRedis()
    const [one, two] = [limitsOf({}, redis), limitsOf({}, redis)]
    await one.limitLogin(HERE, 'ada', async () => undefined)
    expect((await two.limitLogin(HERE, 'ada', async (client) => client)).trust).toBe('known')
    expect((await two.limitLogin(HERE, 'bob', async (client) => client)).trust).toBe('other')
    clock.pass(30 * 24 * 60 * 60)
    const three = limitsOf({}, redis)
    expect((await three.limitLogin(HERE, 'ada', async (client) => client)).trust, 'after 30 days').toBe(
      'other',
    )
  })
})

describe('what a client counts as', () => {
  const keyOf = (ip: string) => addressKey({ ip })

  it.each([
    { what: 'its IPv4 address', ip: '192.0.2.1', key: '192.0.2.1' },
    { what: 'its IPv4 address without a port', ip: '192.0.2.1:4711', key: '192.0.2.1' },
    { what: 'the IPv4 address that IPv6 contains', ip: '::ffff:192.0.2.1', key: '192.0.2.1' },
    { what: 'its IPv6 network of 64 bits', ip: '2001:DB8:1:2:3:4:5:6', key: '2001:db8:1:2::' },
    { what: 'that network without a port', ip: '[2001:db8:1:2::9]:4711', key: '2001:db8:1:2::' },
    { what: 'unknown, without an address', ip: undefined, key: 'unknown' },
    { what: 'unknown, with a text that a proxy forwards', ip: '192.0.2.1:4711x', key: 'unknown' },
    { what: 'unknown, with a port within an address', ip: '192.0.2:4711.1', key: 'unknown' },
  ])('is $what: $ip', ({ ip, key }) => {
    expect(addressKey({ ip } as { ip: string })).toBe(key)
  })

  it('differs by network', () => {
    expect(keyOf('2001:db8:1:2::1')).not.toBe(keyOf('2001:db8:1:3::1'))
  })

  it('is a keyed hash of an account, whatever its case', () => {
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
