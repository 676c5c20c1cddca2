import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logIn, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { SIGN_UP: 'on', LOGIN_BY_MAIL: 'on', ACCOUNT_DELETION: 'on' } })
})
afterAll(() => app[Symbol.asyncDispose]())

/** Marks of two combining classes: to order them takes the square of their number. */
const marks = (count: number) => `a${'\u0345'.repeat(count / 2)}${'\u0334'.repeat(count / 2)}`
const IN_A_ROW = 'must not contain more than 30 combining marks in a row'

const email = 'ada@example.com'
const signUp = { email, username: 'ada', password: PASSWORD }
const reset = { email, token: 'x', password: PASSWORD }

describe('a text whose normalisation would take a tenth of a second', () => {
  it.each([
    { url: '/login', body: { username: marks(7_800), password: PASSWORD }, path: 'username', maximum: 480 },
    { url: '/login', body: { username: marks(60), password: PASSWORD }, path: 'username' },
    { url: '/login', body: { username: email, password: marks(7_800) }, path: 'password', maximum: 1024 },
    { url: '/login', body: { username: email, password: marks(1_000) }, path: 'password' },
    { url: '/signup', body: { ...signUp, password: marks(7_800) }, path: 'password', maximum: 1024 },
    { url: '/signup', body: { ...signUp, password: marks(1_000) }, path: 'password' },
    { url: '/signup', body: { ...signUp, email: `${marks(60)}@example.com` }, path: 'email' },
    { url: '/login/code', body: { email: `${marks(60)}@example.com` }, path: 'email' },
    { url: '/login/resetrequest', body: { email: `${marks(60)}@example.com` }, path: 'email' },
    { url: '/login/resetpassword', body: { ...reset, password: marks(1_000) }, path: 'password' },
    {
      url: '/login/resetpassword',
      body: { ...reset, password: marks(7_800) },
      path: 'password',
      maximum: 1024,
    },
  ])('is refused by $url before it is normalised: $path', async ({ url, body, path, maximum }) => {
    const response = await app.server.inject({ method: 'POST', url, body })
    const message = maximum ? `must be at most ${maximum} characters` : IN_A_ROW
    expect(response.json()).toMatchObject({ status: 400, errors: [{ path, message }] })
  })

  it.each([
    { method: 'PUT', url: '/profile/password', body: { current_password: marks(1_000), password: PASSWORD } },
    { method: 'PUT', url: '/profile', body: { email, current_password: marks(1_000) } },
    { method: 'PUT', url: '/profile', body: { name: marks(40) } },
    { method: 'POST', url: '/profile/delete', body: { current_password: marks(1_000) } },
  ] as const)('is refused by $method $url', async ({ method, url, body }) => {
    const user = await aUser(app)
    const { token } = (await logIn(app, user.email)).json()
    const headers = { authorization: `Bearer ${token}` }
    const response = await app.server.inject({ method, url, body, headers })
    expect(response.json()).toMatchObject({ status: 400, errors: [{ message: IN_A_ROW }] })
  })
})

it('accepts thirty marks in a row, and a password that is typed in four code points a character', async () => {
  const password = 'ᾧ'.normalize('NFD').repeat(256)
  expect([...password]).toHaveLength(1024)
  const zalgo = (await logIn(app, email, marks(30))).statusCode
  expect([zalgo, (await logIn(app, email, password)).statusCode]).toEqual([401, 401])
})
