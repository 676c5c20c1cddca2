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
