import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, mailTo, startApp, type TestApp } from './support/start-app.ts'

const NEW_PASSWORD = 'N3w-p4ssw0rd!'
const SETTINGS = { SIGN_UP: 'on', EMAIL_CHANGE: 'confirmed' }

let database: TestDatabase
let app: TestApp
beforeAll(async () => {
  database = await createTestDatabase()
  app = await startApp({ database, settings: SETTINGS })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const post = (url: string, payload: object, headers = {}) =>
  app.server.inject({ method: 'POST', url, payload, headers })
const anAddress = () => `new-${crypto.randomUUID()}@example.com`

/** What the page of a link gets: all that a browser has which did not send the request. */
async function linkTo(email: string, service = app) {
  const { variables } = await mailTo(service, email)
  const { origin, pathname, search, hash } = new URL(variables.link ?? '')
  const [page, query] = hash.slice(1).split('?')
  const given = Object.fromEntries(new URLSearchParams(query))
  return { at: `${origin}${pathname}${search}`, page, given, variables }
}

async function aSignUp(password = NEW_PASSWORD) {
  const email = anAddress()
  const username = email.slice(0, 20)
  const { token } = (await post('/signup', { email, username, password })).json()
  return { email, token }
}

describe('the link of a mail does in another browser what its code does', () => {
  it('at a reset', async () => {
    const { email } = await aUser(app)
    await post('/login/resetrequest', { email })
    const { at, page, given } = await linkTo(email)
    expect([at, page]).toEqual(['http://localhost:8080/account/', 'reset'])
    const confirmed = await post('/login/confirmcode', given)
    expect(confirmed.statusCode, confirmed.body).toBe(200)
    const { token } = confirmed.json()
    const set = await post('/login/resetpassword', { email, token, password: NEW_PASSWORD })
    expect(set.statusCode, set.body).toBe(200)
  })

  it('at a change of e-mail, for the user who asked for it', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const [headers, others] = [bearer(await aToken(app, user)), bearer(await aToken(app, other))]
    const email = anAddress()
    const payload = { email, current_password: PASSWORD }
    await app.server.inject({ method: 'PUT', url: '/profile', payload, headers })
    const { page, given } = await linkTo(email)
    expect([page, Object.keys(given)]).toEqual(['email', ['code']])
    expect((await post('/profile/confirmemail', given, others)).statusCode).toBe(422)
    expect((await post('/profile/confirmemail', given, headers)).statusCode).toBe(200)
  })

  it('at a sign-up, with the password that was chosen', async () => {
    const { email } = await aSignUp()
    const { page, given } = await linkTo(email)
    expect(page).toBe('signup')
    const confirmed = await post('/signup/confirm', { ...given, password: NEW_PASSWORD })
    expect(confirmed.statusCode, confirmed.body).toBe(200)
  })
})

it('the link of a sign-up confirms nothing without its password, and its guesses are counted', async () => {
  const { email, token } = await aSignUp()
  const { given } = await linkTo(email)
  for (const password of [undefined, '', 'an0ther-Passw0rd!', PASSWORD]) {
    const refused = await post('/signup/confirm', { ...given, password })
    expect([refused.statusCode, refused.json().type]).toEqual([422, 'urn:latchkey:problem:wrong-password'])
  }
  const wrong = given.code === '000000' ? '000001' : '000000'
  const guess = await post('/signup/confirm', { ...given, code: wrong, password: NEW_PASSWORD })
  expect(guess.json().type).toBe('urn:latchkey:problem:signup-refused')
  // Five attempts are over, also for the browser that signed up.
  for (const last of [
    { ...given, password: NEW_PASSWORD },
    { ...given, token },
  ])
    expect((await post('/signup/confirm', last)).json().type).toBe('urn:latchkey:problem:signup-refused')
  expect(await app.users.findByLogin('email', email)).toBeUndefined()
})

it('the id of a reset is no token of it', async () => {
  const { email } = await aUser(app)
  await post('/login/resetrequest', { email })
  const [row] = await database.db.query<{ id: unknown }>(
    { name: 'test-reset', text: 'select id from password_reset where email = $1' },
    [email],
  )
  const token = database.db.fromUuidValue(row?.id)
  const { code } = (await linkTo(email)).given
  expect((await post('/login/confirmcode', { email, code, token })).statusCode).toBe(422)
})

it('a link is in no queue, outbox or log in clear', async () => {
  const { email } = await aUser(app)
  await post('/login/resetrequest', { email })
  const { variables } = await mailTo(app, email)
  const rows = await database.db.query({ name: 'test-outbox', text: 'select payload from mail_outbox' })
  const seen = JSON.stringify([[...app.queued.values()], rows, app.logLines])
  for (const secret of [String(variables.code), '#reset?', encodeURIComponent(email)])
    expect(seen).not.toContain(secret)
})

it.each([
  {
    settings: { MAIL_LINK_URL: 'https://app.example.com/auth?from=mail' },
    at: 'https://app.example.com/auth?from=mail',
  },
  {
    settings: { ACCOUNT_PAGES: 'on', API_SERVER: 'https://example.com/login/' },
    at: 'https://example.com/login/account/',
  },
  { settings: { ACCOUNT_PAGES: 'off' }, at: undefined },
  { settings: { ACCOUNT_PAGES: 'on', API_SERVER: 'latchkey' }, at: undefined },
  { settings: { APP_ENV: 'prod', API_SERVER: 'https://example.com' }, at: undefined },
])('a mail links to $at with $settings', async ({ settings, at }) => {
  await using service = await startApp({ database, settings })
  const { email } = await aUser(service)
  await service.server.inject({ method: 'POST', url: '/login/resetrequest', payload: { email } })
  const { variables } = await mailTo(service, email)
  if (at === undefined) return expect(variables).not.toHaveProperty('link')
  expect((await linkTo(email, service)).at).toBe(at)
})
