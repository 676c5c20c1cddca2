import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts'
import { aToken, aUser, bearer, signToken, startApp, type TestApp } from './support/start-app.ts'

/** The values of production. */
const [CACHE_SECONDS, GRACE_SECONDS] = [5, 10]
const DAY_SECONDS = 86_400

let database: TestDatabase
let app: TestApp
beforeAll(async () => {
  database = await createTestDatabase()
  app = await startApp({ database })
})
afterEach(() => app.setClock(undefined))
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const post = (url: string, token: string) =>
  app.server.inject({ method: 'POST', url, headers: bearer(token) })
const refreshed = async (token: string): Promise<string> => {
  const response = await post('/refreshtoken', token)
  expect(response.statusCode, response.body).toBe(200)
  return response.json().token
}
const ping = async (token: string) =>
  (await app.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode
const expOf = (token: string) => decodeJwt(token).exp ?? 0
/** Sets the clock to `left` seconds before `token` expires. */
const setLeft = (token: string, left: number) => app.setClock((expOf(token) - left) * 1000)

/** A token whose owner has refreshed it, and its successor. The clock is at the refresh. */
async function aRefreshedToken() {
  const user = await aUser(app)
  const token = await aToken(app, user)
  setLeft(token, 200)
  return { user, token, successor: await refreshed(token) }
}

describe('a refreshed token', () => {
  it('ends after a grace of a few seconds', async () => {
    const { token, successor } = await aRefreshedToken()
    setLeft(token, 200 - GRACE_SECONDS + 0.001)
    expect(await ping(token), 'a request in flight').toBe(200)
    setLeft(token, 200 - GRACE_SECONDS)
    expect(await ping(token)).toBe(401)
    expect(decodeJwt(successor).jti).not.toBe(decodeJwt(token).jti)
  })

  it('lets two tabs that refresh it at once both get on', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    setLeft(token, 200)
    const tabs = await Promise.all([refreshed(token), refreshed(token)])
    setLeft(token, 200 - GRACE_SECONDS + 1)
    tabs.push(await refreshed(token))
    setLeft(token, 1)
    for (const tab of tabs) expect(await ping(tab)).toBe(200)
    setLeft(tabs[0] ?? '', 100)
    const next = await Promise.all(tabs.slice(0, 2).map(refreshed))
    setLeft(tabs[0] ?? '', 50)
    for (const tab of next) expect(await ping(tab), 'one refresh later').toBe(200)
  })

  it.each(['/refreshtoken', '/sampleprotected/ping'])(
    'that is used after its grace at %s ends its whole session, and is reported',
    async (url) => {
      const { user, token, successor } = await aRefreshedToken()
      const otherLogin = await aToken(app, user)
      expect(await ping(successor), 'remembered').toBe(200)
      setLeft(token, 100)
      const used = await app.server.inject({
        method: url === '/refreshtoken' ? 'POST' : 'GET',
        url,
        headers: bearer(token),
      })
      expect(used.statusCode).toBe(401)
      expect(used.json().type).toBe('urn:latchkey:problem:invalid-token')
      setLeft(token, 100 - CACHE_SECONDS - 1)
      expect(await ping(successor)).toBe(401)
      setLeft(successor, 100)
      expect((await post('/refreshtoken', successor)).statusCode).toBe(401)
      expect(await ping(otherLogin), 'another login').toBe(200)
      const events = app.logLines.filter(
        (line) => line.includes('token.reused') && line.includes(user.userid),
      )
      expect(events).toHaveLength(1)
    },
  )

  it('changes nothing after its grace on a replica that still remembers it', async () => {
    await using replica = await startApp({
      database,
      settings: {
        REVOCATION_CACHE: '60',
        JWT_SECRET: Buffer.from(app.config.tokens.secret).toString('base64'),
      },
    })
    const user = await aUser(app)
    const token = await aToken(app, user)
    const rename = async () =>
      (
        await replica.server.inject({
          method: 'PUT',
          url: '/profile',
          headers: bearer(token),
          payload: { name: 'Thief' },
        })
      ).statusCode
    const at = (left: number) => {
      setLeft(token, left)
      replica.setClock((expOf(token) - left) * 1000)
    }
    at(200)
    expect(await rename(), 'remembered').toBe(200)
    await refreshed(token)
    at(200 - GRACE_SECONDS)
    expect(await rename()).toBe(401)
  })

  it('cannot be used to escape a logout', async () => {
    const { token, successor } = await aRefreshedToken()
    expect((await post('/logout', successor)).statusCode).toBe(204)
    expect((await post('/refreshtoken', token)).statusCode, 'within its grace').toBe(401)
    setLeft(token, 200 - CACHE_SECONDS - 1)
    expect(await ping(token)).toBe(401)
  })

  it('keeps its end when it is refreshed again within its grace', async () => {
    const { token } = await aRefreshedToken()
    setLeft(token, 200 - GRACE_SECONDS + 1)
    await refreshed(token)
    setLeft(token, 200 - GRACE_SECONDS)
    expect(await ping(token)).toBe(401)
  })

  it('leaves one row, until it has expired', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    setLeft(token, 200)
    const count = async () =>
      (
        await database.db.query(
          {
            name: 'test-revocations-until',
            text: 'select id from token_revocation where expires_at = $1',
          },
          [new Date(expOf(token) * 1000)],
        )
      ).length
    const before = await count()
    await Promise.all(Array.from({ length: 5 }, () => refreshed(token)))
    expect((await count()) - before).toBe(1)
  })
})

it.each([
  { age: 30 * DAY_SECONDS - 1, status: 200 },
  { age: 30 * DAY_SECONDS, status: 401 },
])('a refresh is answered $status when the login is $age seconds old', async ({ age, status }) => {
  const user = await aUser(app)
  const now = Math.floor(Date.now() / 1000)
  const claims = { exp: now + 200, auth_time: now - age }
  const token = await signToken(app, user, { claims })
  app.setClock(now * 1000)
  const response = await post('/refreshtoken', token)
  expect(response.statusCode).toBe(status)
  expect(await ping(token), 'the token itself').toBe(200)
  if (status === 401) expect(response.json().detail).toContain('log in again')
})
