import { METHODS } from 'node:http'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { tooManyWaiting } from '@latchkey/shared/passwords/password-hasher.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { recording } from './support/recording-database.ts'
import { aToken, bearer, codeTo, logIn, startApp, type TestApp } from './support/start-app.ts'

const NEW_PASSWORD = 'N3w-p4ssw0rd!'

let database: TestDatabase
let app: TestApp
beforeAll(async () => {
  database = await createTestDatabase()
  app = await startApp({ database, settings: { EMAIL_CHANGE: 'confirmed', SIGN_UP: 'on' }, auditFlushMs: 20 })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

type Method = 'POST' | 'PUT'
const send = (method: Method, url: string, payload: object, token?: string, on = app) =>
  on.server.inject({ method, url, payload, ...(token && { headers: bearer(token) }) })

/** The events of a user, oldest first, once there are as many as expected. */
async function expectEvents({ userid }: Pick<TestUser, 'userid'>, names: readonly string[]): Promise<void> {
  const { findNewest } = createAuditRepository(database.db)
  const find = async () => (await findNewest(userid, 100)).map(({ name }) => name).toReversed()
  await expect.poll(find).toEqual(names)
}

describe('the audit trail', () => {
  it('has each step of a password reset', async () => {
    const user = await aUser(app)
    const { email } = user
    const { token } = (await send('POST', '/login/resetrequest', { email })).json()
    const code = await codeTo(app, email)
    await send('POST', '/login/confirmcode', { email, token, code })
    await send('POST', '/login/resetpassword', { email, token, password: NEW_PASSWORD })
    await expectEvents(user, ['reset.requested', 'reset.confirmed', 'password.reset'])
  })

  it('has the refusals of codes and tokens, which name no user', async () => {
    const email = `nobody-${crypto.randomUUID()}@example.com`
    await send('POST', '/login/confirmcode', { email, code: '000000' })
    await send('POST', '/login/resetpassword', { email, token: 'wrong', password: NEW_PASSWORD })
    await send('POST', '/signup/confirm', { email, token: 'wrong', code: '000000' })
    const lines = app.logLines.map((line) => JSON.parse(line))
    const refused = lines.filter(({ msg }) => ['reset.refused', 'signup.refused'].includes(msg))
    expect(refused.map(({ msg, reason, userid }) => [msg, reason, userid])).toEqual([
      ['reset.refused', 'code', undefined],
      ['reset.refused', 'token', undefined],
      ['signup.refused', undefined, undefined],
    ])
  })

  it('has a change of the password, and a wrong current one', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    await send('PUT', '/profile/password', { current_password: 'wrong', password: NEW_PASSWORD }, token)
    await send('PUT', '/profile/password', { current_password: PASSWORD, password: NEW_PASSWORD }, token)
    await expectEvents(user, ['login.succeeded', 'current_password.refused', 'password.changed'])
  })

  it('has each step of a change of e-mail', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const email = `moved-${user.email}`
    await send('PUT', '/profile', { email, current_password: PASSWORD }, token)
    const code = await codeTo(app, email)
    const wrong = code === '000000' ? '111111' : '000000'
    await send('POST', '/profile/confirmemail', { code: wrong }, token)
    await send('POST', '/profile/confirmemail', { code }, token)
    await expectEvents(user, [
      'login.succeeded',
      'email.change_requested',
      'email.change_refused',
      'email.changed',
    ])
  })

  it('has a refresh and a logout', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    app.setClock(Date.now() + 3_400_000)
    await send('POST', '/refreshtoken', {}, token)
    await send('POST', '/logout', {}, token)
    app.setClock(undefined)
    await expectEvents(user, ['login.succeeded', 'token.refreshed', 'session.logged_out'])
  })

  it('names the limit, and the user of a request that had a token', async () => {
    await using limited = await startApp({ database, settings: { RATE_LIMIT_REQUESTS: '2' } })
    const user = await aUser(limited)
    for (let time = 0; time < 3; time++) await logIn(limited, user.email)
    const line = limited.logLines.map((each) => JSON.parse(each)).find(({ msg }) => msg === 'limit.reached')
    expect(line).toMatchObject({ reason: 'POST /login', address: '127.0.0.1', reqId: expect.any(String) })
  })
})

describe('a refused login', () => {
  const countUnknown = async (db: Database) => {
    const rows = await db.query<{ event_count: number }>({
      name: 'test-unknown',
      text: `select event_count from audit_event where name = 'login.refused' and reason = 'unknown_user'`,
    })
    return rows.reduce((sum, { event_count }) => sum + event_count, 0)
  }

  it('of somebody unknown shows neither the name nor the password, in the trail or the log', async () => {
    const before = await countUnknown(database.db)
    for (let time = 0; time < 3; time++) await logIn(app, 'stranger@example.com', 'the-guessed-Passw0rd')
    // The first one is written at once, those that follow with the end of the minute.
    await expect.poll(() => countUnknown(database.db)).toBeGreaterThan(before)
    expect(app.logLines.join()).toContain('"reason":"unknown_user"')
    expect(app.logLines.join()).not.toMatch(/stranger|guessed/)
  })

  it('costs no statement before its answer', async () => {
    const recorder = recording(database)
    await using recorded = await startApp({ database: recorder })
    const user = await aUser(app)
    for (const email of [user.email, 'nobody@example.com']) {
      recorder.sent = []
      await logIn(recorded, email, 'wrong')
      expect(recorder.names()).toEqual(['user-by-email'])
    }
    const { passwords } = recorded
    vi.spyOn(passwords, 'requireRoom').mockImplementation(() => {
      throw tooManyWaiting()
    })
    recorder.sent = []
    expect((await logIn(recorded, user.email)).statusCode).toBe(503)
    expect(recorder.names(), 'while too many logins wait').toEqual([])
  })

  it('is one of a few rows in a flood of equal ones', async () => {
    const user = await aUser(app)
    await using flooded = await startApp({ database })
    for (let time = 0; time < 20; time++) await logIn(flooded, user.email, 'wrong')
    await flooded[Symbol.asyncDispose]()
    const found = await createAuditRepository(database.db).findNewest(user.userid, 100)
    const rows = found.filter(({ name }) => name === 'login.refused')
    // Two for each minute that the test takes.
    expect(rows.length).toBeLessThan(10)
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(20)
  })
})

describe('clients that collect reached limits', () => {
  const ROUTED = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
  /** Every method that Node accepts, not only those that Fastify has routes for. */
  const ACCEPTED = METHODS.filter((each) => each !== 'CONNECT')
  const EVERY_METHOD = ['/profile', '/docs', '/nothing']

  it('hide neither who guesses nor at whom', async () => {
    const settings = { RATE_LIMIT_REQUESTS: '20', TRUST_PROXY: '127.0.0.1' }
    await using flooded = await startApp({ database, settings, auditFlushMs: 20 })
    const user = await aUser(flooded)
    const ask = (method: string, url: string, address: string, payload?: object) =>
      flooded.server.inject({
        method: method as 'GET',
        url,
        headers: { 'x-forwarded-for': address },
        ...(payload && { payload }),
      })
    const { paths } = (await ask('GET', '/openapi.json', '198.51.100.1')).json()
    for (const address of ['198.51.100.1', '198.51.100.2']) {
      for (let request = 0; request <= 20; request++) await ask('GET', '/', address)
      const urls = [...Object.keys(paths), '/docs', '/docs/json', '/docs/index.css', '/nothing']
      for (const url of urls.filter((each) => !each.startsWith('/health/')))
        for (const method of EVERY_METHOD.includes(url) ? ACCEPTED : ROUTED)
          expect((await ask(method, url, address)).statusCode, `${method} ${url}`).toBe(429)
    }
    const guess = { username: user.email, password: 'a guess' }
    for (let time = 0; time < 5; time++)
      expect((await ask('POST', '/login', '192.0.2.7', guess)).statusCode).toBe(401)
    await ask('POST', '/login', '192.0.2.8', { username: 'nobody@example.com', password: 'a guess' })
    await expectEvents(user, ['login.refused'])
    const lines = flooded.logLines.map((line) => JSON.parse(line))
    const refused = lines.filter(({ msg }) => msg === 'login.refused')
    expect(refused.map(({ userid, address, reason }) => [userid, address, reason])).toEqual([
      [user.userid, '192.0.2.7', 'wrong_password'],
      [undefined, '192.0.2.8', 'unknown_user'],
    ])
    const reached = lines.filter(({ msg }) => msg === 'limit.reached').map(({ reason }) => reason)
    expect(reached).toContain('POST /login')
    expect(reached.filter((reason) => reason?.includes('unmatched'))).toEqual(['unmatched', 'unmatched'])
  })
})

it('the audit trail has what happened to a user, newest first', async () => {
  const user = await aUser(app)
  await logIn(app, user.email, 'a wrong password')
  const headers = bearer(await aToken(app, user))
  await app.server.inject({ method: 'POST', url: '/logout', headers, payload: { everywhere: true } })
  const { findNewest } = createAuditRepository(app.database.db)
  await expect.poll(() => findNewest(user.userid, 10)).toHaveLength(3)
  const events = await findNewest(user.userid, 10)
  expect(events.map(({ name }) => name).toSorted()).toEqual([
    'login.refused',
    'login.succeeded',
    'sessions.logged_out',
  ])
  for (const event of events)
    expect(event).toMatchObject({
      userid: user.userid,
      address: '127.0.0.1',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      count: 1,
      at: expect.any(Date),
    })
  expect(await findNewest(user.userid, 1)).toEqual(events.slice(0, 1))
  expect(await findNewest(crypto.randomUUID(), 10)).toEqual([])
})
