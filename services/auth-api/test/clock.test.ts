import { randomBytes, randomUUID } from 'node:crypto'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it } from 'vitest'
import { aToken, bearer, codeTo, signToken, startApp, type TestApp } from './support/start-app.ts'

const TWO_MINUTES_MS = 120_000

/** The clock of the machine may be set while the tests run, at which this does not change. */
const steadyNow = () => performance.timeOrigin + performance.now()

/** A database that says the time of `steadyNow`. */
async function createSteadyDatabase(): Promise<TestDatabase> {
  const { db, ...database } = await createTestDatabase()
  const transaction: typeof db.transaction = (work) =>
    db.transaction((inner) =>
      work({
        ...inner,
        async query(statement, values) {
          const rows = await inner.query<never>(statement, values)
          const isPing = statement.name === 'database-ping'
          return isPing
            ? rows.map((row) => ({ ...(row as object), now: new Date(steadyNow()) }) as never)
            : rows
        },
      }),
    )
  return { ...database, db: { ...db, transaction } }
}

const ping = async (app: TestApp, token: string) =>
  (await app.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

it('a replica whose clock is two minutes off says so, and others refuse its tokens until then', async () => {
  await using database = await createTestDatabase()
  const settings = { JWT_SECRET: randomBytes(64).toString('base64') }
  await using right = await startApp({ database, settings })
  const time = { now: Date.now() + TWO_MINUTES_MS, elapsed: 0 }
  await using wrong = await startApp({ database, settings, time })
  // The clock of this machine may be set while the test runs: the other one is off by what it is then.
  const readyAt = async (offMs: number) => {
    time.now = Date.now() + offMs
    return (await wrong.server.inject({ url: '/health/ready' })).json().checks
  }
  const isAhead = 'ahead of the clock of the database; synchronise both (NTP)'
  await expect.poll(() => readyAt(TWO_MINUTES_MS)).toMatchObject({ service: 'degraded', clock: isAhead })
  const token = await aToken(wrong, await aUser(wrong))
  expect(await ping(wrong, token)).toBe(200)
  expect(await ping(right, token)).toBe(401)
  right.setClock(time.now)
  expect(await ping(right, token)).toBe(200)

  const isBehind = 'behind the clock of the database; synchronise both (NTP)'
  await expect.poll(() => readyAt(-TWO_MINUTES_MS)).toMatchObject({ service: 'degraded', clock: isBehind })
  await expect.poll(() => readyAt(0)).toMatchObject({ service: 'ok', clock: 'ok' })
})

describe.each([TWO_MINUTES_MS, -TWO_MINUTES_MS])('two replicas, one of which is off by %i ms', (offMs) => {
  /** The replica with the right clock and the other one, and the same in the opposite order. */
  async function startBoth() {
    const database = await createSteadyDatabase()
    const settings = {
      JWT_SECRET: randomBytes(64).toString('base64'),
      SIGN_UP: 'on',
      EMAIL_CHANGE: 'confirmed',
      // A code that ends by the other clock has ended at once, or lives three times as long.
      RESET_TTL: '60',
    }
    let passedMs = 0
    const clockOff = (ms: number) => ({
      get now() {
        return steadyNow() + passedMs + ms
      },
      get elapsed() {
        return performance.now()
      },
    })
    const right = await startApp({ database, settings, time: clockOff(0) })
    const wrong = await startApp({ database, settings, time: clockOff(offMs) })
    // A replica gets no request before it was ready once.
    await wrong.server.inject({ url: '/health/ready' })
    return {
      orders: [
        [right, wrong],
        [wrong, right],
      ] as const,
      /** Lets a time pass on both. */
      pass(ms: number) {
        passedMs += ms
      },
      async [Symbol.asyncDispose]() {
        for (const each of [wrong, right, database]) await each[Symbol.asyncDispose]()
      },
    }
  }

  it('give a refreshed token its grace', async () => {
    await using both = await startBoth()
    for (const [one, other] of both.orders) {
      const now = Math.floor(steadyNow() / 1000)
      const claims = { iat: now - 200, nbf: now - 200, exp: now + 150, auth_time: now - 200 }
      const token = await signToken(one, await aUser(one), { claims })
      const headers = bearer(token)
      const refresh = (app: TestApp) => app.server.inject({ method: 'POST', url: '/refreshtoken', headers })
      const refreshed = await refresh(one)
      expect(refreshed.statusCode, refreshed.body).toBe(200)
      expect((await refresh(other)).statusCode, 'after a lost answer').toBe(200)
      expect(await ping(one, refreshed.json().token), 'the first use').toBe(200)
      expect(await ping(other, token), 'a request in flight').toBe(200)
      expect((await refresh(other)).statusCode, 'by another tab').toBe(200)
      expect(await ping(one, refreshed.json().token), 'the session').toBe(200)
      // More than the grace and what the database may have taken to say its time.
      both.pass(15_000)
      expect((await refresh(other)).statusCode, 'a reuse').toBe(401)
    }
  })

  it('accept the newest code of a password reset, and no earlier one', async () => {
    await using both = await startBoth()
    for (const [one, other] of both.orders) {
      const { email } = await aUser(one)
      const post = async (app: TestApp, url: string, payload: object) =>
        app.server.inject({ method: 'POST', url, payload })
      const request = async (app: TestApp) => {
        const { token } = (await post(app, '/login/resetrequest', { email })).json()
        return { email, token, code: await codeTo(app, email) }
      }
      const earlier = await request(one)
      // More than the database may have taken to say its time.
      both.pass(10_000)
      const newest = await request(other)
      expect((await post(one, '/login/confirmcode', earlier)).statusCode).toBe(422)
      expect((await post(one, '/login/confirmcode', newest)).statusCode).toBe(200)
    }
  })

  it('accept the codes that the other one has mailed, until they end', async () => {
    await using both = await startBoth()
    for (const [one, other] of both.orders)
      for (const [passedMs, status] of [
        [0, 200],
        [61_000, 422],
      ] as const) {
        const [email, fresh] = [`${randomUUID()}@example.com`, `${randomUUID()}@example.com`]
        const wanted = { email: fresh, username: randomUUID().slice(0, 8), password: 'An0ther-Horse!' }
        const signedUp = await one.server.inject({ method: 'POST', url: '/signup', payload: wanted })
        const user = await aUser(one)
        const payload = { email, current_password: PASSWORD }
        const headers = bearer(await aToken(one, user))
        await one.server.inject({ method: 'PUT', url: '/profile', headers, payload })
        const codes = { signUp: await codeTo(one, fresh), email: await codeTo(one, email) }
        both.pass(passedMs)
        const confirmed = await other.server.inject({
          method: 'POST',
          url: '/signup/confirm',
          payload: { email: fresh, token: signedUp.json().token, code: codes.signUp },
        })
        expect(confirmed.statusCode, confirmed.body).toBe(status)
        const elsewhere = bearer(await aToken(other, user))
        const profile = await other.server.inject({ url: '/profile', headers: elsewhere })
        expect(profile.json().pending_email).toBe(status === 200 ? email : undefined)
        const changed = await other.server.inject({
          method: 'POST',
          url: '/profile/confirmemail',
          headers: elsewhere,
          payload: { code: codes.email },
        })
        expect(changed.statusCode, changed.body).toBe(status)
      }
  })
})
