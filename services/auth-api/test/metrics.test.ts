import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aToken, bearer, logIn, startApp, type TestApp } from './support/start-app.ts'

let database: TestDatabase
let app: TestApp
beforeAll(async () => {
  database = await createTestDatabase()
  // A separate hasher: its calls are counted, as are the connections of the test's own pool.
  app = await startApp({ database, settings: { HASH_CONCURRENCY: '1' } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

/** The values of a metric by its labels. */
async function valuesOf(name: string): Promise<Record<string, number>> {
  const text = await app.registry.metrics()
  const lines = text.split('\n').filter((line) => /^\w+/.exec(line)?.[0] === name)
  return Object.fromEntries(
    lines.map((line) => [/{(.*)}/.exec(line)?.[1] ?? '', Number(line.slice(line.lastIndexOf(' ')))]),
  )
}

/** Returns the growth of each value of a metric while `work` ran. */
async function growthOf(name: string, work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await valuesOf(name)
  await work()
  const after = await valuesOf(name)
  return Object.fromEntries(Object.keys(after).map((key) => [key, (after[key] ?? 0) - (before[key] ?? 0)]))
}

it('counts logins and the steps of a reset by outcome', async () => {
  const user = await aUser(app)
  const logins = await growthOf('latchkey_logins_total', async () => {
    await logIn(app, user.email)
    await logIn(app, user.email, 'not the password')
    await logIn(app, 'nobody@example.com')
  })
  expect(logins).toMatchObject({
    'outcome="succeeded"': 1,
    'outcome="refused"': 2,
    'outcome="failed"': 0,
  })

  const post = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
  const resets = await growthOf('latchkey_password_resets_total', async () => {
    await post('/login/resetrequest', { email: user.email })
    await post('/login/resetrequest', { email: 'nobody@example.com' })
    await post('/login/confirmcode', { email: user.email, code: '000000', token: 'x' })
  })
  expect(resets).toMatchObject({
    'step="requested",outcome="succeeded"': 2,
    'step="confirmed",outcome="refused"': 1,
    'step="completed",outcome="succeeded"': 0,
  })
  // The rows of these mails are written a moment later: the tests that follow count statements.
  await expect.poll(() => createOutboxRepository(app.database.db).findOldestUndispatched()).toBeUndefined()
})

it('tells apart the durations of requests up to the time limit of a statement', async () => {
  await app.server.inject({ url: '/openapi.json' })
  const buckets = Object.keys(await valuesOf('http_request_duration_seconds_bucket'))
  const bounds = buckets.map((labels) => Number(/le="([\d.]+)"/.exec(labels)?.[1] ?? 0))
  expect(Math.max(...bounds)).toBe(15)
})

it('counts the checks of tokens from memory and by the database', async () => {
  const { email } = await aUser(app)
  const { token } = (await logIn(app, email)).json()
  const ping = () =>
    app.server.inject({ url: '/sampleprotected/ping', headers: { authorization: `Bearer ${token}` } })
  const checks = await growthOf('latchkey_token_checks_total', async () => {
    for (let request = 0; request < 3; request++) expect((await ping()).statusCode).toBe(200)
  })
  expect(checks).toEqual({ 'source="memory"': 2, 'source="database"': 1 })
})

it('counts no statement of the scrape itself as waiting', async () => {
  // The readiness is read again.
  app.setClock(Date.now() + 10_000)
  expect(await valuesOf('latchkey_database_connections')).toMatchObject({ 'state="waiting"': 0 })
})

it('shows the connections, the hashes, and the age of the oldest mail', async () => {
  const user = await aUser(app)
  await app.database.db.transaction(async () => {
    expect(await valuesOf('latchkey_database_connections')).toMatchObject({ 'state="in_use"': 1 })
  })
  expect(await valuesOf('latchkey_database_connections_max')).toEqual({ '': app.config.database.poolSize })
  const hashes = Array.from({ length: 3 }, () => app.passwords.hash('a password'))
  expect(await valuesOf('latchkey_hashes')).toEqual({ 'state="running"': 1, 'state="waiting"': 2 })
  await Promise.all(hashes)
  expect(await valuesOf('latchkey_hashes')).toEqual({ 'state="running"': 0, 'state="waiting"': 0 })

  await app.server.inject({ method: 'POST', url: '/login/resetrequest', payload: { email: user.email } })
  app.setClock(Date.now() + 60_000)
  const { '': age = 0 } = await valuesOf('latchkey_mail_oldest_unsent_seconds')
  expect(age).toBeGreaterThan(59)
  expect(age).toBeLessThan(300)
})

it('names the skew where another replica issues tokens from the future, and says so once a minute', async () => {
  const user = await aUser(app)
  const skew = async () => Object.values(await valuesOf('latchkey_clock_skew_seconds'))[0]
  const profileWith = async (token: string) =>
    (await app.server.inject({ url: '/profile', headers: bearer(token) })).statusCode
  const now = Date.now()
  const tokenOf = async (aheadMs: number) => {
    app.setClock(now + aheadMs)
    const token = await aToken(app, user)
    app.setClock(now)
    return token
  }
  expect(await profileWith(await tokenOf(0))).toBe(200)
  expect(await skew()).toBe(0)
  expect(await profileWith(await tokenOf(4_000)), 'within the leeway').toBe(200)
  expect(await skew()).toBeCloseTo(4, -0.5)
  const tooEarly = await tokenOf(120_000)
  for (let request = 0; request < 3; request++) expect(await profileWith(tooEarly)).toBe(401)
  expect(await skew()).toBeCloseTo(120, -0.5)
  const lines = app.logLines.filter((line) => line.includes('a token is from the future'))
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(['warn'])
  app.setClock(now + 300_000)
  expect(await skew()).toBe(0)
  app.setClock(undefined)
})
