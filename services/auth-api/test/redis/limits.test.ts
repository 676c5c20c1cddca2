import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { FORMER_QUEUE, openBullQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createCounterFactory } from '../../src/limits/counters.ts'
import { createKnownAddresses } from '../../src/limits/known-addresses.ts'
import { openLimitStore } from '../../src/limits/limit-store.ts'
import { createLimits } from '../../src/limits/limits.ts'
import { startSeverableProxy } from '../support/severable-proxy.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const readInstallation = async () => 'test'

let database: TestDatabase
let redis: Awaited<ReturnType<typeof startRedis>>
beforeAll(async () => {
  ;[database, redis] = await Promise.all([createTestDatabase(), startRedis()])
})
afterAll(() => Promise.all([database[Symbol.asyncDispose](), redis.container.stop()]))
beforeEach(() => redis.run('flushall'))

async function startRedis() {
  const container = await new GenericContainer('redis:8')
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .start()
  const engine = (await getContainerRuntimeClient()).container.getById(container.getId())
  return {
    container,
    url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    run: async (...command: string[]) => (await container.exec(['redis-cli', ...command])).output,
    /** Connections stay open, and nothing answers. */
    hang: () => engine.pause(),
    wake: () => engine.unpause(),
  }
}

/** One replica of auth-api, with production's Redis timeout until `bePatient`. */
async function startReplica(url: string = redis.url, settings: Record<string, string> = {}) {
  const store = openLimitStore(url, readInstallation, { debug: () => undefined })
  const app = await startApp({
    database,
    settings: { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_LOGIN: '5', RATE_LIMIT_RESET: '4', ...settings },
    limitStore: store,
  })
  const dispose = app[Symbol.asyncDispose]
  if (url === redis.url) await expect.poll(() => store?.redis.status).toBe('ready')
  return Object.assign(app, {
    /** Lets it wait for Redis on a busy machine. */
    bePatient() {
      if (store) Object.assign(store.redis.options, { commandTimeout: 20_000 })
    },
    async [Symbol.asyncDispose]() {
      await dispose()
      store?.redis.disconnect()
    },
  })
}

const post = (app: TestApp, url: string, payload: object, address: string) =>
  app.server.inject({ method: 'POST', url, payload, headers: { 'x-forwarded-for': address } })
const logIn = async (app: TestApp, username: string, password: string, address = '203.0.113.1') =>
  (await post(app, '/login', { username, password }, address)).statusCode
const askReset = async (app: TestApp, email: string, address: string) =>
  (await post(app, '/login/resetrequest', { email }, address)).statusCode
let guesses = 0
/** The keys in Redis after a guess that no limit refuses. */
const keysAfterGuess = async (app: TestApp) => {
  guesses++
  await logIn(app, `nobody-${guesses}@example.com`, 'wrong', `198.51.100.${guesses}`)
  return redis.run('keys', '*')
}
const countRedisWarnings = (app: TestApp) =>
  app.logLines.filter((line) => line.includes('counts limits on its own')).length

describe('limits in Redis', () => {
  it('are those of all replicas together', async () => {
    await using one = await startReplica()
    await using two = await startReplica()
    one.bePatient()
    two.bePatient()
    const user = await aUser(one)
    for (const app of [one, two, one, two, one]) expect(await logIn(app, user.email, 'wrong')).toBe(401)
    expect(await logIn(two, user.email, PASSWORD)).toBe(429)
    expect(await logIn(one, user.email, PASSWORD)).toBe(429)
    expect(await logIn(two, user.email, PASSWORD, '203.0.113.2'), 'the owner, from elsewhere').toBe(200)

    for (const app of [one, two, one, two]) expect(await askReset(app, user.email, '203.0.113.7')).toBe(200)
    expect(await askReset(one, user.email, '203.0.113.7')).toBe(429)
    expect(await askReset(two, user.email, '203.0.113.8')).toBe(200)
  })

  it('of requests are those of all replicas together, but for a twentieth each', async () => {
    const settings = { RATE_LIMIT_REQUESTS: '500' }
    await using one = await startReplica(redis.url, settings)
    await using two = await startReplica(redis.url, settings)
    one.bePatient()
    two.bePatient()
    const ask = async (app: TestApp) => {
      const headers = { 'x-forwarded-for': '203.0.113.5' }
      return (await app.server.inject({ url: '/', headers })).statusCode
    }
    for (let count = 0; count < 500; count++) expect(await ask(one)).not.toBe(429)
    let allowed = 0
    // Redis answers a report while further requests arrive.
    for (; (await ask(two)) !== 429; allowed++) await wait(10)
    expect(allowed).toBeGreaterThanOrEqual(24)
    expect(allowed).toBeLessThan(200)
    await redis.run('flushall')
    expect(await ask(two), 'with Redis emptied').toBe(429)
  })

  it('limit concurrent guesses on two replicas to the pending attempts of two processes', async () => {
    await using one = await startReplica()
    await using two = await startReplica()
    const user = await aUser(one)
    const storm = () =>
      Promise.all(
        Array.from({ length: 40 }, (_, index) => logIn(index % 2 ? one : two, user.email, `wrong ${index}`)),
      )
    const statuses = [...(await storm()), ...(await storm())]
    // On a busy machine Redis may not answer in time.
    const guessed = statuses.filter((status) => status === 401).length
    expect(guessed).toBeGreaterThanOrEqual(5)
    expect(guessed).toBeLessThanOrEqual(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(80 - guessed)
  })

  it('are not reset when Redis hangs or is emptied', async () => {
    await using app = await startReplica()
    const user = await aUser(app)
    for (let guess = 0; guess < 5; guess++) expect(await logIn(app, user.email, 'wrong')).toBe(401)
    await redis.run('flushall')
    expect(await logIn(app, user.email, PASSWORD)).toBe(429)
    await redis.hang()
    try {
      expect(await logIn(app, user.email, PASSWORD)).toBe(429)
    } finally {
      await redis.wake()
    }
  })

  it('apply in each process while Redis refuses to write', async () => {
    await using app = await startReplica()
    const user = await aUser(app)
    for (let guess = 0; guess < 2; guess++) expect(await logIn(app, user.email, 'wrong')).toBe(401)
    await redis.run('config', 'set', 'maxmemory', '1')
    try {
      for (let guess = 0; guess < 3; guess++) expect(await logIn(app, user.email, 'wrong')).toBe(401)
      expect(await logIn(app, user.email, PASSWORD)).toBe(429)
      expect(countRedisWarnings(app)).toBe(1)
    } finally {
      await redis.run('config', 'set', 'maxmemory', '0')
    }
  })

  it('leave room for the queue, however many clients are known', async () => {
    const store = await openStore()
    const { queue, close } = openBullQueue(redis.url, FORMER_QUEUE, {}, () => undefined)
    try {
      await queue.waitUntilReady()
      const used = Number(/used_memory:(\d+)/.exec(await redis.run('info', 'memory'))?.[1])
      await redis.run('config', 'set', 'maxmemory', String(used + 2 * 2 ** 20))
      const known = createKnownAddresses(store, (account) => account.padEnd(43, '='), 2_500)
      const clientOf = (n: number) => ({
        address: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
      })
      for (let n = 0; n < 25_000; n += 500)
        await Promise.all(Array.from({ length: 500 }, (_, more) => known.remember(clientOf(n + more), 'ada')))
      expect(Number(await store.redis.zcard('latchkey-test:limit:known'))).toBe(2_500)
      const ofAnother = createKnownAddresses(store, (account) => account.padEnd(43, '='), 2_500)
      expect(await ofAnother.has(clientOf(24_999), 'ada')).toBe(true)
      expect(await ofAnother.has(clientOf(0), 'ada'), 'the oldest').toBe(false)
      expect((await queue.add('mail', {})).id).toBeDefined()
      const counter = createCounterFactory(store, {
        info: () => undefined,
        warn: (details) => expect.fail(JSON.stringify(details)),
      })
      expect(await counter('failures', 60).count('key')).toMatchObject({ count: 1 })
    } finally {
      await redis.run('config', 'set', 'maxmemory', '0')
      await close()
    }
  })

  it('grant an account all of its resets when forty are requested at the same time', async () => {
    await using app = await startReplica()
    app.bePatient()
    const { email } = await aUser(app)
    const statuses = await Promise.all(
      Array.from({ length: 40 }, (_, host) => askReset(app, email, `198.51.100.${host}`)),
    )
    expect(statuses.filter((status) => status === 200)).toHaveLength(12)
  })

  it('do not begin an hour of one replica with a reset request that is refused', async () => {
    const settings = { JWT_SECRET: randomBytes(64).toString('base64') }
    await using one = await startReplica(redis.url, settings)
    await using two = await startReplica(redis.url, settings)
    one.bePatient()
    two.bePatient()
    const { email } = await aUser(one)
    for (let host = 1; host <= 4; host++) expect(await askReset(one, email, `198.51.100.${host}`)).toBe(200)
    expect(await askReset(one, email, '203.0.113.1')).toBe(200)
    expect(await askReset(two, email, '203.0.113.1')).toBe(429)
    const keys = (await redis.run('--raw', 'keys', '*reset-pair:203.0.113.1*')).trim()
    await redis.run('del', keys)
    expect(await askReset(two, email, '203.0.113.1'), 'when the hour is over').toBe(200)

    for (let host = 5; host <= 10; host++) expect(await askReset(one, email, `198.51.100.${host}`)).toBe(200)
    for (let host = 11; host <= 24; host++) expect(await askReset(two, email, `198.51.100.${host}`)).toBe(429)
    await redis.run('del', (await redis.run('--raw', 'keys', '*reset-account*')).trim())
    expect(await askReset(two, email, '198.51.100.25'), 'when the hour of the account is over').toBe(200)
  })

  /** The store of one process, which waits for Redis on a busy machine. */
  async function openStore() {
    const store = openLimitStore(redis.url, readInstallation, { debug: () => undefined })
    if (!store) throw new Error('no store')
    Object.assign(store.redis.options, { commandTimeout: 20_000 })
    onTestFinished(() => store.redis.disconnect())
    await expect.poll(() => store.redis.status).toBe('ready')
    return store
  }
  const HERE = { address: '192.0.2.1', hasLeft: () => false }

  it('are given back for all replicas', async () => {
    const logger = { info: () => undefined, warn: expect.fail }
    const [one, two] = [await openStore(), await openStore()].map((store) =>
      createCounterFactory(store, logger)('given', 60),
    )
    for (let event = 0; event < 3; event++) await one?.count('key')
    await one?.giveBack('key')
    expect(await two?.read('key')).toMatchObject({ count: 2 })
    expect(await one?.read('key')).toMatchObject({ count: 2 })
  })

  it('count each limit by keys that no other limit has', async () => {
    const store = await openStore()
    const limits = createLimits(
      { limits: { requestsPerMinute: 20, failuresPerMinute: 2, waitingAttempts: 0, mailRequests: 2 } },
      { secret: new Uint8Array(64), limitStore: store, logger: { info: () => undefined, warn: expect.fail } },
    )
    const fail = (code: ErrorCode) => () => Promise.reject(new AppError(code, 'refused'))
    const shown = { userid: 'ada', purpose: 'login', challenge: 'c', isGuessable: true } as const
    await limits.limitRequest?.(HERE)
    const failures = [
      () => limits.limitLogin(HERE, 'ada', fail('invalid_credentials')),
      () => limits.limitTakenNames(HERE, 'ada', fail('email_taken')),
      () => limits.limitCodes(HERE, 'ada', fail('reset_refused')),
      () => limits.limitFactors(HERE, shown, fail('second_factor_refused')),
      () => limits.limitFactors(HERE, shown, fail('passkey_refused')),
      ...(['stepUp', 'enrolment'] as const).map(
        (purpose) => () => limits.limitFactors(HERE, { ...shown, purpose }, fail('second_factor_refused')),
      ),
    ]
    for (const failure of failures) await expect(failure()).rejects.toThrow('refused')
    const { limitResets, limitSignUps, limitEmailChanges, limitEmailChangesTo } = limits
    for (const limit of [limitResets, limitSignUps, limitEmailChanges, limitEmailChangesTo])
      await limit(HERE, 'ada')
    const key = limits.accountKey('ada')
    const ofAccountAndAddress = (name: string, count = 1) => [
      [`latchkey-test:limit:${name}-account:${key}`, count],
      [`latchkey-test:limit:${name}-address:192.0.2.1`, count],
      [`latchkey-test:limit:${name}-pair:192.0.2.1 ${key}`, count],
    ]
    const names = ['code', 'email', 'email-change', 'email-change-to', 'login', 'reset', 'sign-up']
    const expected = [
      ...names.flatMap((name) => ofAccountAndAddress(name)),
      ...ofAccountAndAddress('factor', 2),
      // A refused passkey is no guess.
      [`latchkey-test:limit:factor-day:${key}`, 1],
      ...['step-up', 'enrolment'].flatMap((name) => [
        ...ofAccountAndAddress(name),
        [`latchkey-test:limit:${name}-day:${key}`, 1],
      ]),
      ['latchkey-test:limit:challenge:c', 4],
      ['latchkey-test:limit:requests:192.0.2.1', 1],
    ]
    const counts = async () => {
      const keys = await store.redis.keys('latchkey-test:limit:*')
      return Promise.all(keys.toSorted().map(async (each) => [each, Number(await store.redis.get(each))]))
    }
    await expect.poll(counts).toEqual(expected.toSorted())
  })

  it('know where users have logged in on another replica, for 30 days', async () => {
    const [one, two] = [await openStore(), await openStore()].map((store) =>
      createKnownAddresses(store, (account) => account),
    )
    await one?.remember(HERE, 'ada')
    expect([await two?.has(HERE, 'ada'), await two?.has(HERE, 'bob')]).toEqual([true, false])
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 30 * 24 * 60 * 60 * 1000)
    onTestFinished(() => void vi.restoreAllMocks())
    expect(await two?.has(HERE, 'ada')).toBe(false)
  })

  it('reveal no account there', async () => {
    await using app = await startReplica()
    app.bePatient()
    const user = await aUser(app)
    await logIn(app, user.email, 'wrong')
    await askReset(app, user.email, '203.0.113.1')
    const keys = await redis.run('keys', '*')
    expect(keys).toContain('login-account')
    expect(keys).not.toContain(user.username)
  })

  it('end: every counter has an expiry', async () => {
    await using app = await startReplica(redis.url, { RATE_LIMIT_REQUESTS: '20' })
    app.bePatient()
    const user = await aUser(app)
    await logIn(app, user.email, 'wrong')
    await askReset(app, user.email, '203.0.113.1')
    const findKeys = async () =>
      (await redis.run('--raw', 'keys', 'latchkey-test:limit:*')).split('\n').filter(Boolean)
    await expect.poll(async () => (await findKeys()).length).toBeGreaterThanOrEqual(7)
    const keys = await findKeys()
    expect(keys.join()).toContain('requests')
    for (const key of keys) expect(Number(await redis.run('--raw', 'pttl', key))).toBeGreaterThanOrEqual(5)
  })

  it('apply in each process while Redis hangs, and in Redis again afterwards', async () => {
    await using app = await startReplica()
    const user = await aUser(app)
    await redis.hang()
    try {
      for (let guess = 0; guess < 5; guess++) expect(await logIn(app, user.email, 'wrong')).toBe(401)
      expect(await logIn(app, user.email, PASSWORD)).toBe(429)
      expect(countRedisWarnings(app)).toBe(1)
    } finally {
      await redis.wake()
    }
    await expect
      .poll(
        async () => (await logIn(app, 'nobody@example.com', 'wrong', '203.0.113.9')) && app.logLines.join(''),
        { interval: 500 },
      )
      .toContain('limits are counted in Redis again')
    await using other = await startReplica()
    app.bePatient()
    other.bePatient()
    const another = await aUser(app)
    for (let guess = 0; guess < 5; guess++) await logIn(app, another.email, 'wrong', '203.0.113.3')
    expect(await logIn(other, another.email, PASSWORD, '203.0.113.3')).toBe(429)
  })

  it('are in Redis again after a failover that closed no connection', async () => {
    await using proxy = await startSeverableProxy(redis.url)
    await using app = await startReplica(proxy.url)
    await expect.poll(() => keysAfterGuess(app)).toContain('login-account')
    proxy.strand()
    await redis.run('flushall')
    await expect.poll(() => keysAfterGuess(app)).toContain('login-account')
  })

  it('apply in each process where there was never a Redis', async () => {
    await using app = await startReplica('redis://127.0.0.1:1')
    const user = await aUser(app)
    for (let guess = 0; guess < 5; guess++) expect(await logIn(app, user.email, 'wrong')).toBe(401)
    expect(await logIn(app, user.email, PASSWORD)).toBe(429)
    expect(countRedisWarnings(app)).toBe(1)
  })
})
