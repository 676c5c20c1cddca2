import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { challengeOf, codeAt, enrol, post } from './support/factors.ts'
import { aDevice, ORIGIN, passkeySettings } from './support/passkeys.ts'
import { type RecordingDatabase, recording } from './support/recording-database.ts'
import { aToken, bearer, codeTo, startApp, type TestApp } from './support/start-app.ts'

const DAY_MS = 86_400_000
const GRACE_MS = 10_000

let database: RecordingDatabase
let app: TestApp
let replica: TestApp
beforeAll(async () => {
  database = recording(await createTestDatabase())
  const settings = passkeySettings({ SIGN_UP: 'on', ACCOUNT_DELETION: 'on', EMAIL_CHANGE: 'immediate' })
  app = await startApp({ database, settings })
  const secret = Buffer.from(app.config.tokens.secret).toString('base64')
  replica = await startApp({ database, settings: { ...settings, JWT_SECRET: secret } })
})
afterEach(() => {
  setClock(undefined)
  database.failing = undefined
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

interface Session {
  token: string
  refresh_token: string
  refresh_expires_at: string
}

function setClock(now: number | undefined): void {
  for (const each of [app, replica]) each.setClock(now)
}

async function aSession(user: TestUser, on = app): Promise<Session> {
  const payload = { username: user.email, password: PASSWORD, remember: true }
  const response = await post(on, '/login', payload)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}
const exchange = (refresh_token: string, on = app) => post(on, '/refreshtoken', { refresh_token })
async function exchanged({ refresh_token }: Pick<Session, 'refresh_token'>, on = app): Promise<Session> {
  const response = await exchange(refresh_token, on)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}
const ping = async ({ token }: Pick<Session, 'token'>, on = app) =>
  (await on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

describe('a login with remember', () => {
  /** Each logs a user in, and returns the answer. */
  const logins: { by: string; logIn: (remember: unknown) => Promise<{ body: string; json(): Session }> }[] = [
    {
      by: 'the password',
      async logIn(remember) {
        const { email } = await aUser(app)
        return post(app, '/login', { username: email, password: PASSWORD, remember })
      },
    },
    {
      by: 'a second factor',
      async logIn(remember) {
        const user = await aUser(app)
        const start = Date.now()
        setClock(start)
        const { secret } = await enrol(app, await aToken(app, user), start)
        setClock(start + 60_000)
        const challenge = await challengeOf(app, user)
        const code = codeAt(secret, start + 60_000)
        return post(app, '/login/secondfactor', { challenge, code, remember })
      },
    },
    {
      by: 'a passkey alone',
      async logIn(remember) {
        const token = await aToken(app, await aUser(app))
        const device = aDevice()
        const begun = await post(app, '/profile/factors/passkey', { current_password: PASSWORD }, token)
        const created = device.createJSON(ORIGIN, begun.json().publicKey)
        await post(app, '/profile/factors/passkey/confirm', { credential: created }, token)
        const options = await post(app, '/login/passkey/options', {})
        const credential = device.getJSON(ORIGIN, options.json().publicKey)
        return post(app, '/login/passkey', { credential, remember })
      },
    },
    {
      by: "a sign-up's confirmation",
      async logIn(remember) {
        const username = `u${crypto.randomUUID().slice(0, 12)}`
        const email = `${username}@example.com`
        const { token } = (await post(app, '/signup', { email, username, password: PASSWORD })).json()
        return post(app, '/signup/confirm', { email, token, code: await codeTo(app, email), remember })
      },
    },
  ]

  it.each(logins)('by $by begins a session that is refreshed long after its token', async ({ logIn }) => {
    const answer = await logIn(true)
    const begun = answer.json()
    expect(begun, answer.body).toMatchObject({
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      refresh_expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    })
    setClock(Date.now() + 20 * DAY_MS)
    const next = await exchanged(begun, replica)
    expect(Object.keys(next).toSorted()).toEqual(['data', 'refresh_expires_at', 'refresh_token', 'token'])
    expect(await ping(next)).toBe(200)
    const [before, after] = [decodeJwt(begun.token), decodeJwt(next.token)]
    expect(after).toMatchObject({ sid: before.sid, sub: before.sub, auth_time: before.auth_time })
    expect(after.amr).toEqual(before.amr)
    expect(next.refresh_token).not.toBe(begun.refresh_token)
    expect(Date.parse(next.refresh_expires_at) - Date.parse(begun.refresh_expires_at)).toBeGreaterThan(
      19 * DAY_MS,
    )
  })

  it.each(logins)('by $by has no refresh token unless it asks for one', async ({ logIn }) => {
    for (const remember of [undefined, false])
      expect(Object.keys((await logIn(remember)).json()).toSorted()).toEqual(['data', 'token'])
  })

  it.each(logins)('by $by is refused with another type of it', async ({ logIn }) => {
    for (const remember of ['true', 1, 'Cookie', null, {}, []]) {
      const answer = await logIn(remember)
      expect(JSON.parse(answer.body)).toMatchObject({
        status: 400,
        errors: [{ path: 'remember', message: 'must be true, false or "cookie"' }],
      })
    }
  })

  it('is 503 where its row cannot be stored; one without it is answered', async () => {
    const user = await aUser(app)
    database.failing = 'user_session-store'
    const payload = { username: user.email, password: PASSWORD }
    const refused = await post(app, '/login', { ...payload, remember: true })
    expect(refused.json()).toMatchObject({ status: 503, type: 'urn:latchkey:problem:unavailable' })
    expect((await post(app, '/login', payload)).statusCode).toBe(200)
  })
})

const reuses = ({ userid }: TestUser) =>
  [...app.logLines, ...replica.logLines].filter(
    (line) => line.includes('token.reused') && line.includes(userid),
  )

describe('a refresh token', () => {
  it('is repeated by any replica as long as nothing of its successor was used', async () => {
    const user = await aUser(app)
    const begun = await aSession(user)
    const first = await exchanged(begun)
    for (const days of [0, 1, 20]) {
      setClock(Date.now() + days * DAY_MS)
      for (const on of [app, replica]) {
        const repeated = await exchanged(begun, on)
        expect(repeated.refresh_token).toBe(first.refresh_token)
        expect(decodeJwt(repeated.token).jti).toBe(decodeJwt(first.token).jti)
      }
    }
    expect(reuses(user)).toEqual([])
  })

  it.each<{ by: string; use: (next: Session) => Promise<unknown> }>([
    { by: 'a request with its access token', use: (next) => ping(next, replica) },
    { by: 'a refresh with its refresh token', use: (next) => exchanged(next, replica) },
  ])('is repeated for ten seconds after $by, and after that ends the session', async ({ use }) => {
    const user = await aUser(app)
    const begun = await aSession(user)
    const start = Date.now()
    setClock(start)
    const next = await exchanged(begun)
    await use(next)
    setClock(start + GRACE_MS - 1)
    const repeated = await exchanged(begun)
    expect(await ping(repeated)).toBe(200)
    setClock(start + GRACE_MS)
    expect((await exchange(begun.refresh_token, replica)).json()).toMatchObject({
      status: 401,
      type: 'urn:latchkey:problem:invalid-token',
    })
    expect(reuses(user)).toHaveLength(1)
    expect((await exchange(repeated.refresh_token)).statusCode).toBe(401)
    expect(await ping(repeated, replica)).toBe(401)
  })

  it('that is older than the one before ends the session at once', async () => {
    const user = await aUser(app)
    const begun = await aSession(user)
    const start = Date.now()
    let newest = begun
    for (const hours of [1, 2, 3]) {
      setClock(start + hours * 3_600_000)
      newest = await exchanged(newest)
      expect(await ping(newest)).toBe(200)
    }
    setClock(start + 4 * 3_600_000)
    expect((await exchange(begun.refresh_token)).statusCode).toBe(401)
    expect(reuses(user)).toHaveLength(1)
    expect((await exchange(newest.refresh_token)).statusCode).toBe(401)
  })
})

describe('what is sent in place of a refresh token', () => {
  const session = async () => {
    const user = await aUser(app)
    return { user, begun: await aSession(user) }
  }
  /** A text for the body, made from a valid token; and how it is refused. */
  const texts: { why: string; make: (token: string) => unknown; status?: number; says?: RegExp }[] = [
    { why: 'cut', make: (token) => token.slice(0, -1) },
    { why: 'of a session that nobody has', make: () => 'A'.repeat(43) },
    { why: 'with another last character, which decodes to the same', make: twin },
    { why: 'with padding', make: (token) => `${token}=` },
    { why: 'with white space', make: (token) => ` ${token}` },
    { why: 'in base64', make: (token) => Buffer.from(token, 'base64url').toString('base64') },
    { why: 'empty', make: () => '' },
    { why: 'of 10 KB', make: (token) => token.repeat(240) },
    { why: 'with NUL', make: (token) => `${token.slice(0, 42)}\0` },
    { why: 'an access token', make: () => 'eyJhbGciOiJIUzUxMiJ9.e30.x' },
    { why: 'of 17 KB', make: (token) => token.repeat(400), status: 413 },
    { why: 'a number', make: () => 1, status: 400, says: /refresh_token/ },
    { why: 'null', make: () => null, status: 400, says: /refresh_token/ },
    { why: 'an object', make: (token) => ({ token }), status: 400, says: /refresh_token/ },
    { why: 'a list', make: (token) => [token], status: 400, says: /refresh_token/ },
  ]

  it.each(texts)(
    '$why is refused by refresh and logout, and ends nothing',
    async ({ make, status = 401, says = /./ }) => {
      const { user, begun } = await session()
      for (const url of ['/refreshtoken', '/logout']) {
        const response = await post(app, url, { refresh_token: make(begun.refresh_token) })
        expect(response.statusCode, response.body).toBe(status)
        expect(response.body).toMatch(says)
        if (status === 401) expect(response.json().type).toBe('urn:latchkey:problem:invalid-token')
      }
      expect(reuses(user)).toEqual([])
      expect(await ping(await exchanged(begun))).toBe(200)
    },
  )

  it.each(['/refreshtoken', '/logout'])('is named by %s where it is in the wrong place', async (url) => {
    const { begun } = await session()
    const { token, refresh_token } = begun
    const sent = { method: 'POST', url, payload: {} } as const
    const inQuery = await app.server.inject({ ...sent, url: `${url}?refresh_token=${refresh_token}` })
    expect([inQuery.statusCode, inQuery.json().detail]).toEqual([
      400,
      'The refresh token is in the address; send it as refresh_token in a JSON body',
    ])
    const inHeader = await app.server.inject({ ...sent, headers: bearer(refresh_token) })
    expect([inHeader.statusCode, inHeader.json().detail]).toEqual([
      401,
      'The Authorization header holds a refresh token; send it as refresh_token in a JSON body',
    ])
    const both = await post(app, url, { refresh_token }, token)
    expect([both.statusCode, both.json().detail]).toEqual([
      400,
      'The request has a refresh_token in its body, and the Authorization header too; send one of them',
    ])
    const none = await app.server.inject(sent)
    expect([none.statusCode, none.json().detail]).toEqual([
      401,
      'The request has no token; send it as Authorization: Bearer <token>',
    ])
    expect(await ping(await exchanged(begun))).toBe(200)
    const logged = [...app.logLines, ...replica.logLines].join('')
    for (const secret of [token, refresh_token]) expect(logged).not.toContain(secret)
  })

  it('of another installation is refused', async () => {
    await using other = await startApp()
    const { refresh_token } = await aSession(await aUser(other), other)
    expect((await exchange(refresh_token)).statusCode).toBe(401)
    expect((await post(app, '/logout', { refresh_token })).statusCode).toBe(401)
    expect((await exchange(refresh_token, other)).statusCode).toBe(200)
  })

  it('is refused after a logout by it, and a second logout too', async () => {
    const { begun } = await session()
    const { refresh_token } = begun
    expect((await post(app, '/logout', { refresh_token })).statusCode).toBe(204)
    expect((await post(app, '/logout', { refresh_token })).statusCode).toBe(401)
    expect((await exchange(refresh_token)).statusCode).toBe(401)
    expect(await ping(begun)).toBe(401)
  })

  it('is any token of the session for a logout: the newest one may have been lost', async () => {
    const { begun } = await session()
    const { refresh_token } = await exchanged(await exchanged(begun))
    expect((await post(app, '/logout', { refresh_token: begun.refresh_token })).statusCode).toBe(204)
    expect((await exchange(refresh_token)).statusCode).toBe(401)
  })

  it('ends every session with everywhere', async () => {
    const { user, begun } = await session()
    const other = await aSession(user)
    const everywhere = { refresh_token: begun.refresh_token, everywhere: true }
    expect((await post(app, '/logout', everywhere)).statusCode).toBe(204)
    for (const { refresh_token } of [begun, other])
      expect((await exchange(refresh_token)).statusCode).toBe(401)
  })
})

/** The same bytes in other text: the last character of 43 has two bits that do not count. */
const twin = (token: string) => {
  const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return `${token.slice(0, -1)}${characters[characters.indexOf(token.slice(-1)) + 1]}`
}

describe('the access token of an exchange', () => {
  it("has the user's present name and role", async () => {
    const user = await aUser(app)
    const begun = await aSession(user)
    await app.server.inject({
      method: 'PUT',
      url: '/profile',
      headers: bearer(begun.token),
      payload: { name: 'Neo' },
    })
    await database.db.execute(
      { name: 'test-role', text: "update users set role = 'admin' where userid = $1" },
      [database.db.toUuidValue(user.userid)],
    )
    const { token } = await exchanged(begun)
    expect(decodeJwt(token).data).toEqual({ userid: user.userid, name: 'Neo', role: 'admin' })
  })

  it('says how and when the user has confirmed the login, and no factor once there is none', async () => {
    const user = await aUser(app)
    const begun = await aSession(user)
    const start = Math.ceil(Date.now() / 1000) * 1000
    setClock(start)
    const { token } = await enrol(app, begun.token, start)
    const { amr, auth_time } = decodeJwt(token)
    expect(amr).toEqual(['pwd', 'otp', 'mfa'])
    setClock(start + DAY_MS)
    const next = await exchanged(begun, replica)
    expect(decodeJwt(next.token)).toMatchObject({ amr, auth_time })
    setClock(start + 60_000)
    const headers = bearer(token)
    const { factors } = (await app.server.inject({ url: '/profile/factors', headers })).json()
    const url = `/profile/factors/${factors[0].id}`
    expect((await app.server.inject({ method: 'DELETE', url, headers })).statusCode).toBe(204)
    setClock(start + 2 * DAY_MS)
    const last = decodeJwt((await exchanged(next)).token)
    expect(last).toMatchObject({ auth_time })
    expect(last.amr).toBeUndefined()
  })

  it('can be refreshed by itself in its last minutes, which leaves the refresh token as it is', async () => {
    const begun = await aSession(await aUser(app))
    setClock((decodeJwt(begun.token).exp ?? 0) * 1000 - 100_000)
    const response = await app.server.inject({
      method: 'POST',
      url: '/refreshtoken',
      headers: bearer(begun.token),
    })
    expect(Object.keys(response.json()).toSorted()).toEqual(['data', 'token'])
    expect(await ping(response.json())).toBe(200)
    setClock(Date.now() + 20 * DAY_MS)
    expect(await ping(await exchanged(begun))).toBe(200)
  })
})

describe('GET /sessions', () => {
  it('says which are remembered, until when, and shows the client of the newest refresh', async () => {
    const user = await aUser(app)
    const begun = await aSession(user)
    await aToken(app, user)
    const list = async ({ token }: Session) =>
      (await app.server.inject({ url: '/sessions', headers: bearer(token) })).json().sessions
    expect(await list(begun)).toEqual([
      expect.objectContaining({ current: true, remembered: true, expires_at: begun.refresh_expires_at }),
      expect.objectContaining({ current: false, remembered: false }),
    ])
    setClock(Date.now() + 10 * DAY_MS)
    const response = await app.server.inject({
      method: 'POST',
      url: '/refreshtoken',
      headers: { 'user-agent': 'curl/8.14.1' },
      payload: { refresh_token: begun.refresh_token },
    })
    expect(await list(response.json())).toEqual([
      expect.objectContaining({ agent: 'curl/8.14.1', expires_at: response.json().refresh_expires_at }),
    ])
  })
})

describe('a change of the password', () => {
  const change = ({ token }: Session) =>
    app.server.inject({
      method: 'PUT',
      url: '/profile/password',
      headers: bearer(token),
      payload: { current_password: PASSWORD, password: 'N3w-p4ssw0rd!' },
    })

  it('gives its device a new refresh token, where it had one', async () => {
    const user = await aUser(app)
    const begun = await aSession(user)
    const changed = (await change(begun)).json()
    expect((await exchange(begun.refresh_token)).statusCode).toBe(401)
    expect(await ping(await exchanged(changed))).toBe(200)
    const other = await aUser(app)
    const without = await change({ ...begun, token: await aToken(app, other) })
    expect(Object.keys(without.json()).toSorted()).toEqual(['data', 'token'])
  })

  it('is answered with a token alone where the new session cannot be stored', async () => {
    const begun = await aSession(await aUser(app))
    database.failing = 'user_session-store'
    const changed = await change(begun)
    expect([changed.statusCode, Object.keys(changed.json()).toSorted()]).toEqual([200, ['data', 'token']])
  })
})

it('lives as long as the access token that came with it, although SESSION_IDLE is shorter', async () => {
  await using short = await startApp({ settings: { SESSION_IDLE: '60', SESSION_LIFETIME: '5000' } })
  const begun = await aSession(await aUser(short), short)
  const { iat = 0, exp = 0 } = decodeJwt(begun.token)
  expect(Date.parse(begun.refresh_expires_at)).toBe(exp * 1000)
  short.setClock((exp - 1) * 1000)
  const next = await exchanged(begun, short)
  expect(Date.parse(next.refresh_expires_at), 'SESSION_LIFETIME').toBe((iat + 5_000) * 1000)
  short.setClock((iat + 5_000) * 1000)
  expect((await exchange(next.refresh_token, short)).statusCode).toBe(401)
})

describe('the first use of a new pair', () => {
  const writes = () => database.names().filter((name) => name === 'session-record-use').length

  it('is written once, whatever follows on any replica; that of a login is not', async () => {
    const begun = await aSession(await aUser(app))
    database.sent.length = 0
    for (const on of [app, replica]) expect(await ping(begun, on)).toBe(200)
    expect(writes(), 'a login').toBe(0)
    const next = await exchanged(begun)
    // Later than a replica remembers a token.
    setClock(Date.now() + 60_000)
    expect(await ping(begun, replica), 'the access token before').toBe(200)
    expect(writes()).toBe(0)
    for (const on of [app, replica]) expect(await ping(next, on)).toBe(200)
    expect(writes()).toBe(1)
  })

  it('is written by the next read where it could not be, and the request is answered', async () => {
    const user = await aUser(app)
    const begun = await aSession(user)
    const start = Date.now()
    setClock(start)
    const next = await exchanged(begun)
    database.failing = 'session-record-use'
    expect(await ping(next)).toBe(200)
    setClock(start + 60_000)
    expect((await exchange(begun.refresh_token)).statusCode, 'not seen').toBe(200)
    database.failing = undefined
    expect(await ping(next)).toBe(200)
    setClock(start + 60_000 + GRACE_MS)
    expect((await exchange(begun.refresh_token)).statusCode).toBe(401)
  })
})

it('answers a token that was refreshed twice within its grace with the newest pair', async () => {
  const user = await aUser(app)
  const begun = await aSession(user)
  const start = Date.now()
  setClock(start)
  const first = await exchanged(begun)
  setClock(start + 60_000)
  const second = await exchanged(first)
  setClock(start + 60_000 + GRACE_MS - 1)
  const late = await exchanged(begun, replica)
  expect(late.refresh_token).toBe(second.refresh_token)
  setClock(start + 60_000 + GRACE_MS)
  expect((await exchange(begun.refresh_token)).statusCode).toBe(401)
  expect(reuses(user)).toHaveLength(1)
})
