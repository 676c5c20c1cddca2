import { BAN_PROPERTY, formatBan, UNCONFIRMED_PROPERTY } from '@latchkey/shared/users/account-state.ts'
import { aUser, type TestUser } from '@latchkey/test-support/a-user.ts'
import { countRows, createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answer, codeAt, enrolUser, factorSettings } from './support/factors.ts'
import {
  aToken,
  bearer,
  logIn,
  mailTo,
  queuedMails,
  softDelete,
  startApp,
  type TestApp,
} from './support/start-app.ts'

const NEW_PASSWORD = 'N3w-p4ssw0rd!'
const STEP_MS = 30_000
const REFUSED = 'urn:latchkey:problem:login-code-refused'

let database: TestDatabase
let app: TestApp
beforeAll(async () => {
  database = await createTestDatabase()
  app = await startApp({
    database,
    settings: factorSettings({
      LOGIN_BY_MAIL: 'on',
      SIGN_UP: 'on',
      EMAIL_CHANGE: 'confirmed',
      ACCOUNT_DELETION: 'on',
      NOTICE_NEW_CLIENT: 'on',
    }),
  })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const post = (url: string, payload: object, headers: Record<string, string> = {}, on = app) =>
  on.server.inject({ method: 'POST', url, payload, headers })
const confirm = (given: object, on = app) => post('/login/code/confirm', given, {}, on)
const typeAndStatus = ({ statusCode, json }: Awaited<ReturnType<typeof post>>) => [statusCode, json().type]

/** Requests a code, and returns what the client and the mail have. */
async function aCode(email: string, on = app) {
  const { token } = (await post('/login/code', { email }, {}, on)).json()
  const { variables } = await mailTo(on, email, 'login-code')
  return { email, token, code: variables.code ?? '', link: variables.link ?? '' }
}
const wrong = (code: string) => (code === '000000' ? '000001' : '000000')
const set = (user: TestUser, name: string, value: string) => app.users.setProperty(user.userid, name, value)

describe('a mailed code', () => {
  it('logs in as a login does, says how, and works once', async () => {
    const user = await aUser(app)
    const given = await aCode(user.email)
    const answered = await confirm({ ...given, remember: true })
    expect(answered.statusCode, answered.body).toBe(200)
    const { token, data, ...rest } = answered.json()
    expect(Object.keys(rest)).toEqual(['refresh_token', 'refresh_expires_at'])
    expect(data).toEqual({ userid: user.userid, name: 'Ada', role: 'user' })
    expect(decodeJwt(token)).toMatchObject({ sub: user.userid, amr: ['email'] })
    expect((await app.server.inject({ url: '/profile', headers: bearer(token) })).statusCode).toBe(200)
    expect(typeAndStatus(await confirm(given))).toEqual([422, REFUSED])
  })

  it('is refused as every one of these, and the right one works afterwards', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const given = await aCode(user.email)
    const others = await aCode(other.email)
    const attempts = {
      'another code': { ...given, code: wrong(given.code) },
      'the token of another request': { ...given, token: (await aCode(user.email)).token },
      'the code and the token of another address': { ...others, email: user.email },
      'the address of another one': { ...given, email: other.email },
      'the id of another one': { ...given, token: crypto.randomUUID() },
    }
    for (const [what, attempt] of Object.entries(attempts))
      expect([what, ...typeAndStatus(await confirm(attempt))]).toEqual([what, 422, REFUSED])
    expect((await confirm(given)).statusCode).toBe(200)
  })

  it('is none of a reset, a sign-up or a change of e-mail, and none of these is one of a login', async () => {
    const user = await aUser(app)
    const headers = bearer(await aToken(app, user))
    const login = await aCode(user.email)
    const reset = (await post('/login/resetrequest', { email: user.email })).json()
    const resetCode = (await mailTo(app, user.email, 'password-reset')).variables.code
    const { email, code } = login
    expect((await post('/login/confirmcode', { email, code })).statusCode).toBe(422)
    expect((await post('/login/confirmcode', { email, code, token: login.token })).statusCode).toBe(422)
    expect((await post('/signup/confirm', { email, code, token: login.token })).statusCode).toBe(422)
    expect((await post('/profile/confirmemail', { code }, headers)).statusCode).toBe(422)
    for (const token of [login.token, reset.token])
      expect(typeAndStatus(await confirm({ email, token, code: resetCode }))).toEqual([422, REFUSED])
  })

  it('ends after RESET_ATTEMPTS guesses, and those of a stranger end no code of the owner', async () => {
    const user = await aUser(app)
    const mine = await aCode(user.email)
    const strangers = await aCode(user.email)
    for (let guess = 0; guess < 5; guess++) await confirm({ ...strangers, code: wrong(strangers.code) })
    expect(typeAndStatus(await confirm(strangers))).toEqual([422, REFUSED])
    expect((await confirm(mine)).statusCode).toBe(200)
  })

  it('that was asked for before is ended by the use of another one', async () => {
    const { email } = await aUser(app)
    const [first, second] = [await aCode(email), await aCode(email)]
    expect((await confirm(second)).statusCode).toBe(200)
    expect((await confirm(first)).statusCode).toBe(422)
  })

  it('expires with RESET_TTL', async () => {
    const given = await aCode((await aUser(app)).email)
    app.setClock(Date.now() + 601_000)
    expect((await confirm(given)).statusCode).toBe(422)
    app.setClock(undefined)
  })

  it.each<[string, (user: TestUser) => Promise<unknown>]>([
    ['the account is deleted', (user) => softDelete(app, user)],
    [
      'the e-mail is another one',
      (user) => app.users.setEmail(user.userid, `other-${crypto.randomUUID()}@example.com`),
    ],
    [
      'the password has changed',
      async (user) =>
        app.server.inject({
          method: 'PUT',
          url: '/profile/password',
          payload: { current_password: 'c0rrect-Horse!', password: NEW_PASSWORD },
          headers: bearer(await aToken(app, user)),
        }),
    ],
  ])('is refused where %s since the request', async (_, change) => {
    const user = await aUser(app)
    const given = await aCode(user.email)
    await change(user)
    expect(typeAndStatus(await confirm(given))).toEqual([422, REFUSED])
  })

  it('logs in by the link of its mail, in another browser', async () => {
    const { email } = await aUser(app)
    const { link } = await aCode(email)
    const [page, query] = new URL(link).hash.slice(1).split('?')
    expect(page).toBe('login')
    expect((await confirm(Object.fromEntries(new URLSearchParams(query)))).statusCode).toBe(200)
  })
})

describe('after the right code', () => {
  it('the second factor is asked for, and the token says all that was shown', async () => {
    const user = await aUser(app)
    const now = Math.ceil(Date.now() / STEP_MS) * STEP_MS
    app.setClock(now)
    const { secret } = await enrolUser(app, user, now)
    app.setClock(now + STEP_MS)
    const challenged = await confirm(await aCode(user.email))
    expect(typeAndStatus(challenged)).toEqual([403, 'urn:latchkey:problem:second-factor-required'])
    const { challenge } = challenged.json()
    const answered = await answer(app, challenge, codeAt(secret, now + STEP_MS))
    expect(answered.statusCode, answered.body).toBe(200)
    expect(decodeJwt(answered.json().token).amr).toEqual(['email', 'otp', 'mfa'])
    app.setClock(undefined)
  })

  it('a banned user is told so, and nobody else is', async () => {
    const user = await aUser(app)
    await set(user, BAN_PROPERTY, formatBan({ until: undefined, reason: 'spam' }))
    const given = await aCode(user.email)
    expect(typeAndStatus(await confirm({ ...given, code: wrong(given.code) }))).toEqual([422, REFUSED])
    expect(typeAndStatus(await confirm(given))).toEqual([403, 'urn:latchkey:problem:account-banned'])
  })

  it('an address that was not confirmed is, and the password of whoever signed up ends', async () => {
    const user = await aUser(app)
    await set(user, UNCONFIRMED_PROPERTY, 'yes')
    expect((await confirm(await aCode(user.email))).statusCode).toBe(200)
    expect((await logIn(app, user.email)).statusCode).toBe(401)
    expect((await confirm(await aCode(user.email))).statusCode).toBe(200)
  })

  it('the user gets a mail about a new client', async () => {
    const user = await aUser(app)
    await logIn(app, user.email)
    const given = await aCode(user.email)
    const headers = { 'user-agent': 'Another browser' }
    expect((await post('/login/code/confirm', given, headers)).statusCode).toBe(200)
    await mailTo(app, user.email, 'new-client')
  })
})

it('twenty wrong codes cause the mail about failed logins', async () => {
  const user = await aUser(app)
  for (let request = 0; request < 4; request++) {
    const given = await aCode(user.email)
    for (let guess = 0; guess < 5; guess++) await confirm({ ...given, code: wrong(given.code) })
  }
  expect((await mailTo(app, user.email, 'failed-logins')).variables.count).toBe('20')
})

describe('an e-mail', () => {
  it.each(['unknown', 'deleted'])(
    'that is %s gets no mail, and is answered like a known one',
    async (kind) => {
      const user = await aUser(app)
      if (kind === 'deleted') await softDelete(app, user)
      const email = kind === 'deleted' ? user.email : `nobody-${crypto.randomUUID()}@example.com`
      const before = await countRows(database.db, 'mailed_code')
      const answered = await post('/login/code', { email })
      expect([answered.statusCode, Object.keys(answered.json())]).toEqual([200, ['token']])
      expect(await countRows(database.db, 'mailed_code')).toBe(before + 1)
      const { token } = answered.json()
      expect(typeAndStatus(await confirm({ email, token, code: '123456' }))).toEqual([422, REFUSED])
      expect((await queuedMails(app)).filter(({ to }) => to === email)).toEqual([])
    },
  )

  it('gets at most three times RATE_LIMIT_RESET mails an hour, of whatever many addresses', async () => {
    await using limited = await startApp({
      database,
      settings: { LOGIN_BY_MAIL: 'on', RATE_LIMIT_RESET: '2', TRUST_PROXY: '127.0.0.1' },
    })
    const { email } = await aUser(limited)
    const request = (address: string, url = '/login/code') =>
      post(url, { email }, { 'x-forwarded-for': address }, limited)
    const statuses = []
    for (let each = 1; each <= 9; each++) statuses.push((await request(`192.0.2.${each}`)).statusCode)
    expect(statuses.filter((status) => status === 200)).toHaveLength(6)
    expect(statuses.slice(6)).toEqual([429, 429, 429])
    // They leave the owner a reset.
    expect((await request('192.0.2.1', '/login/resetrequest')).statusCode).toBe(200)
  })

  it('has one limit of wrong codes, at a login and at a reset', async () => {
    await using limited = await startApp({
      database,
      settings: { LOGIN_BY_MAIL: 'on', RATE_LIMIT_LOGIN: '3' },
    })
    const { email } = await aUser(limited)
    const { token, code } = await aCode(email, limited)
    for (let guess = 0; guess < 2; guess++) await confirm({ email, token, code: wrong(code) }, limited)
    await post('/login/confirmcode', { email, code: '000000' }, {}, limited)
    expect((await confirm({ email, token, code }, limited)).statusCode).toBe(429)
  })
})

it('there is no login by mail unless LOGIN_BY_MAIL is on', async () => {
  await using off = await startApp({ database })
  for (const url of ['/login/code', '/login/code/confirm'])
    expect((await post(url, { email: 'ada@example.com' }, {}, off)).statusCode).toBe(404)
})

it('a code is in no queue, outbox, table or log in clear', async () => {
  const { email } = await aUser(app)
  const { code, link, token } = await aCode(email)
  const tables = [
    await database.db.query({ name: 'test-outbox', text: 'select * from mail_outbox' }),
    await database.db.query({ name: 'test-codes', text: 'select token_hash, code_hash from mailed_code' }),
  ]
  const seen = JSON.stringify([[...app.queued.values()], tables, app.logLines])
  for (const secret of [token, link, `"${code}"`]) expect(seen).not.toContain(secret)
})
