import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RecordingDatabase, recording } from './support/recording-database.ts'
import { bearer, codeTo, startApp, type TestApp } from './support/start-app.ts'

/** REVOCATION_CACHE as production has it. */
const CACHE_SECONDS = 5
const NEW_PASSWORD = 'N3w-p4ssw0rd!'
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

interface Listed {
  id: string
  remembered: boolean
  current: boolean
  created_at: string
  refreshed_at: string
  expires_at: string
  address: string
  agent: string | null
}

let database: RecordingDatabase
let app: TestApp
let replica: TestApp
beforeAll(async () => {
  database = recording(await createTestDatabase())
  const settings = {
    EMAIL_CHANGE: 'immediate',
    REVOCATION_CACHE: String(CACHE_SECONDS),
    REFRESH_WINDOW: '3599',
  }
  app = await startApp({ database, settings })
  const secret = Buffer.from(app.config.tokens.secret).toString('base64')
  replica = await startApp({ database, settings: { ...settings, JWT_SECRET: secret } })
})
afterEach(() => {
  for (const each of [app, replica]) each.setClock(undefined)
  database.failing = undefined
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

async function aToken(
  user: TestUser,
  { password = PASSWORD, agent = FIREFOX, address = '192.0.2.7', on = app } = {},
): Promise<string> {
  const response = await on.server.inject({
    method: 'POST',
    url: '/login',
    headers: { 'user-agent': agent },
    remoteAddress: address,
    payload: { username: user.email, password },
  })
  expect(response.statusCode, response.body).toBe(200)
  return response.json().token
}

const get = (token: string, on = app) => on.server.inject({ url: '/sessions', headers: bearer(token) })
const list = async (token: string): Promise<Listed[]> => (await get(token)).json().sessions
const end = async (token: string, id: string, on = app) =>
  (await on.server.inject({ method: 'DELETE', url: `/sessions/${id}`, headers: bearer(token) })).statusCode
const ping = async (token: string, on = app) =>
  (await on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode
const send = (method: 'POST' | 'PUT', url: string, payload: object, token?: string) =>
  app.server.inject({ method, url, payload, headers: token === undefined ? {} : bearer(token) })
const idOf = async (token: string) => (await list(token)).find(({ current }) => current)?.id ?? ''

/** Refreshes a token, two seconds after its login. */
async function refreshed(token: string, headers: Record<string, string> = {}): Promise<string> {
  app.setClock(Date.now() + 2_000)
  const response = await app.server.inject({
    method: 'POST',
    url: '/refreshtoken',
    headers: { ...bearer(token), ...headers },
  })
  expect(response.statusCode, response.body).toBe(200)
  return response.json().token
}

describe('GET /sessions', () => {
  it('lists each login with its times, its address and its client, that of the token first', async () => {
    const user = await aUser(app)
    const token = await aToken(user)
    await aToken(user, { agent: 'curl/8.14.1', address: '2001:db8:1:2:3:4:5:6' })
    const { iat = 0, exp = 0 } = decodeJwt(token)
    expect(await list(token)).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{64}$/),
        remembered: false,
        current: true,
        created_at: new Date(iat * 1000).toISOString(),
        refreshed_at: new Date(iat * 1000).toISOString(),
        expires_at: new Date(exp * 1000).toISOString(),
        address: '192.0.2.7',
        agent: FIREFOX,
      },
      expect.objectContaining({ current: false, address: '2001:db8:1:2::', agent: 'curl/8.14.1' }),
    ])
  })

  it('shows the session of a refresh with its new times, address and client, under the same id', async () => {
    const token = await aToken(await aUser(app))
    const [before] = await list(token)
    const [after, ...others] = await list(await refreshed(token, { 'user-agent': 'curl/8.14.1' }))
    expect(others).toEqual([])
    expect(after).toMatchObject({ id: before?.id, created_at: before?.created_at, current: true })
    expect(after).toMatchObject({ agent: 'curl/8.14.1', address: '127.0.0.1' })
    expect(Date.parse(after?.refreshed_at ?? '')).toBeGreaterThan(Date.parse(before?.refreshed_at ?? ''))
    expect(Date.parse(after?.expires_at ?? '')).toBeGreaterThan(Date.parse(before?.expires_at ?? ''))
  })

  it('leaves out what has expired', async () => {
    const user = await aUser(app)
    await aToken(user)
    app.setClock(Date.now() + 3_601_000)
    expect(await list(await aToken(user))).toHaveLength(1)
  })

  /** Each ends sessions of a user with three tokens, and returns a token that works. */
  const endings: { by: string; endSome: (tokens: string[], user: TestUser) => Promise<string> }[] = [
    {
      by: 'a logout',
      async endSome([first = '', , third = '']) {
        await send('POST', '/logout', {}, first)
        return third
      },
    },
    {
      by: 'the reuse of a refreshed token',
      async endSome([first = '', , third = '']) {
        expect(await ping(await refreshed(first))).toBe(200)
        app.setClock(Date.now() + 20_000)
        expect((await send('POST', '/refreshtoken', {}, first)).statusCode).toBe(401)
        return third
      },
    },
    {
      by: 'a logout everywhere',
      async endSome([first = ''], user) {
        await send('POST', '/logout', { everywhere: true }, first)
        return aToken(user)
      },
    },
    {
      by: 'a change of the password',
      async endSome([first]) {
        const change = { current_password: PASSWORD, password: NEW_PASSWORD }
        return (await send('PUT', '/profile/password', change, first)).json().token
      },
    },
    {
      by: 'a reset of the password',
      async endSome(_, user) {
        const { email } = user
        const { token } = (await send('POST', '/login/resetrequest', { email })).json()
        await send('POST', '/login/confirmcode', { email, token, code: await codeTo(app, email) })
        await send('POST', '/login/resetpassword', { email, token, password: NEW_PASSWORD })
        return aToken(user, { password: NEW_PASSWORD })
      },
    },
    {
      by: 'an admin who ends every token',
      async endSome(_, user) {
        await database.db.transaction(async (db) => {
          const users = createUserRepository(db)
          const found = await users.lockAndFind(user.userid)
          if (found) await revokeUserTokens(users, found, Date.now())
        })
        return aToken(user)
      },
    },
    {
      by: 'a change of the e-mail, but for that of its token',
      async endSome([, , third = ''], user) {
        await send('PUT', '/profile', { email: `new-${user.email}` }, third)
        return third
      },
    },
  ]
  it.each(endings)('leaves out what was ended by $by', async ({ endSome }) => {
    const user = await aUser(app)
    const tokens = [await aToken(user), await aToken(user), await aToken(user)]
    expect(await list(tokens[2] ?? '')).toHaveLength(3)
    const valid = await endSome(tokens, user)
    const statuses = await Promise.all([...new Set([...tokens, valid])].map((each) => ping(each, replica)))
    expect(statuses).toContain(401)
    const shown = await list(valid)
    expect(shown).toHaveLength(statuses.filter((status) => status === 200).length)
    expect(shown[0]?.current).toBe(true)
  })

  it.each([
    { sent: 'a\u0007b\u001b[31mc', shown: 'ab[31mc' },
    { sent: Buffer.from('Fire\u202efox\u2066').toString('latin1'), shown: 'Firefox' },
    { sent: '<script>alert(1)</script>', shown: '<script>alert(1)</script>' },
    { sent: 'x'.repeat(5_000), shown: 'x'.repeat(200) },
    { sent: '\u00e9\u0085', shown: null },
  ])('shows a client only what is printable of $sent', async ({ sent, shown }) => {
    const token = await aToken(await aUser(app), { agent: sent })
    expect((await list(token))[0]?.agent).toBe(shown)
  })

  it('answers a token that has ended with 401, although the replica remembers it', async () => {
    const user = await aUser(app)
    const [stolen, own] = [await aToken(user), await aToken(user)]
    expect(await ping(stolen, replica)).toBe(200)
    await send('POST', '/logout', {}, stolen)
    expect((await get(stolen, replica)).statusCode).toBe(401)
    expect(await end(stolen, await idOf(own), replica)).toBe(401)
    expect(await ping(own)).toBe(200)
  })

  it('shows the newest hundred of a user with more, and always that of the token', async () => {
    const user = await aUser(app)
    const token = await aToken(user)
    for (let more = 0; more < 101; more++) await aToken(user)
    const shown = await list(token)
    expect(shown).toHaveLength(100)
    expect(shown[0]?.current).toBe(true)
  })
})

describe('DELETE /sessions/{id}', () => {
  it('ends the tokens of the session on this replica at once, and on others within REVOCATION_CACHE', async () => {
    const user = await aUser(app)
    const [lost, own] = [await aToken(user), await aToken(user)]
    const start = Date.now()
    replica.setClock(start)
    for (const each of [app, replica]) expect(await ping(lost, each)).toBe(200)
    expect(await end(own, await idOf(lost))).toBe(204)
    expect(await ping(lost)).toBe(401)
    replica.setClock(start + CACHE_SECONDS * 1000)
    expect(await ping(lost, replica), 'still remembered').toBe(200)
    replica.setClock(start + CACHE_SECONDS * 1000 + 1)
    expect(await ping(lost, replica)).toBe(401)
    expect(await ping(own)).toBe(200)
    expect(await list(own)).toHaveLength(1)
  })

  it('ends the token that was refreshed, and both that two tabs got for it', async () => {
    const user = await aUser(app)
    const [lost, own] = [await aToken(user), await aToken(user)]
    const tokens = [lost, await refreshed(lost), await refreshed(lost)]
    for (const token of tokens) expect(await ping(token)).toBe(200)
    expect(await end(own, await idOf(lost))).toBe(204)
    for (const token of tokens) expect(await ping(token)).toBe(401)
    const refresh = await app.server.inject({
      method: 'POST',
      url: '/refreshtoken',
      headers: bearer(tokens[2] ?? ''),
    })
    expect(refresh.statusCode).toBe(401)
    expect(await list(own)).toHaveLength(1)
  })

  it('ends the own one like a logout', async () => {
    const token = await aToken(await aUser(app))
    expect(await end(token, await idOf(token))).toBe(204)
    expect(await ping(token)).toBe(401)
  })

  it("answers 404 for somebody else's session and for one that has ended, and ends nothing", async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const [token, ended, others] = [await aToken(user), await aToken(user), await aToken(other)]
    const id = await idOf(ended)
    expect(await end(token, await idOf(others))).toBe(404)
    expect(await ping(others)).toBe(200)
    expect(await end(token, id)).toBe(204)
    expect(await end(token, id), 'again').toBe(404)
    expect(await end(token, 'f'.repeat(64))).toBe(404)
    const gone = await idOf(token)
    await send('POST', '/logout', { everywhere: true }, token)
    expect(await end(await aToken(user), gone), 'ended with all others').toBe(404)
  })

  it.each(['x', 'F'.repeat(64), `${'f'.repeat(63)}%00`, 'f'.repeat(65)])('refuses the id %s', async (id) => {
    expect(await end(await aToken(await aUser(app)), id)).toBe(400)
  })

  it('gives no access by an id, and records the end', async () => {
    const user = await aUser(app)
    const [lost, own] = [await aToken(user), await aToken(user)]
    const id = await idOf(lost)
    expect(JSON.stringify(decodeJwt(lost))).not.toContain(id)
    expect(await ping(id)).toBe(401)
    await end(own, id)
    expect(app.logLines.some((line) => line.includes('session.ended') && line.includes(user.userid))).toBe(
      true,
    )
  })
})

describe('the row of a session', () => {
  it('costs a login and a refresh one statement each, and a refused login none', async () => {
    const user = await aUser(app)
    database.sent.length = 0
    const token = await aToken(user)
    expect(database.names()).toEqual(['user-by-email', 'user_session-store'])
    database.sent.length = 0
    await refreshed(token)
    expect(database.names()).toEqual(['token-status', 'token-refresh', 'user_session-store'])
    database.sent.length = 0
    await send('POST', '/login', { username: user.email, password: 'wrong' })
    expect(database.names()).toEqual(['user-by-email'])
  })

  it('is stored by the next refresh where the login could not, which succeeds all the same', async () => {
    const user = await aUser(app)
    database.failing = 'user_session-store'
    const token = await aToken(user)
    expect(await list(token)).toEqual([])
    database.failing = undefined
    expect(await list(await refreshed(token))).toEqual([expect.objectContaining({ current: true })])
  })
})
