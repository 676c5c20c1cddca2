import { isMadeUsername } from '@latchkey/shared/users/account-names.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post } from './support/factors.ts'
import { aToken, bearer, codeTo, logIn, mailTo, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
let byUsername: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { SIGN_UP: 'on' } })
  byUsername = await startApp({ settings: { SIGN_UP: 'on', LOGIN_FIELD: 'username' } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await byUsername[Symbol.asyncDispose]()
})

const anEmail = () => `${crypto.randomUUID()}@example.com`

describe('a user who logs in by the e-mail', () => {
  it('signs up without a username, which nothing shows', async () => {
    const emails = [anEmail(), anEmail()]
    for (const email of emails) {
      const { token } = (await post(app, '/signup', { email, password: PASSWORD })).json()
      const confirmed = await post(app, '/signup/confirm', { email, token, code: await codeTo(app, email) })
      expect(confirmed.statusCode, confirmed.body).toBe(200)
      const profile = await app.server.inject({ url: '/profile', headers: bearer(confirmed.json().token) })
      expect(profile.json()).toMatchObject({ email, username: null })
      const again = await app.server.inject({
        method: 'PUT',
        url: '/profile',
        payload: profile.json(),
        headers: bearer(confirmed.json().token),
      })
      expect(again.statusCode, 'what GET answers can be sent back').toBe(200)
    }
    const stored = await Promise.all(emails.map((email) => app.users.findByLogin('email', email)))
    const names = stored.map((user) => user?.username ?? '')
    expect(names.every(isMadeUsername)).toBe(true)
    expect(names.every((name) => name.length <= 20)).toBe(true)
    expect(new Set(names).size).toBe(2)
  })

  it('keeps one that is chosen', async () => {
    const [email, username] = [anEmail(), `u${crypto.randomUUID().slice(0, 8)}`]
    const { token } = (await post(app, '/signup', { email, username, password: PASSWORD })).json()
    const { token: access } = (
      await post(app, '/signup/confirm', { email, token, code: await codeTo(app, email) })
    ).json()
    const profile = await app.server.inject({ url: '/profile', headers: bearer(access) })
    expect(profile.json()).toMatchObject({ username })
  })

  it('cannot change it', async () => {
    const headers = bearer(await aToken(app, await aUser(app)))
    const payload = { username: 'another', current_password: PASSWORD }
    const response = await app.server.inject({ method: 'PUT', url: '/profile/username', payload, headers })
    expect(response.statusCode).toBe(404)
  })
})

describe('a user who logs in by the username', () => {
  const tokenOf = async (username: string) => (await logIn(byUsername, username)).json().token
  const change = (token: string, payload: object) =>
    byUsername.server.inject({ method: 'PUT', url: '/profile/username', payload, headers: bearer(token) })
  const aName = () => `n${crypto.randomUUID().slice(0, 8)}`

  it('has to choose one', async () => {
    const response = await post(byUsername, '/signup', { email: anEmail(), password: PASSWORD })
    expect([response.statusCode, response.json().errors]).toEqual([
      400,
      [{ path: 'username', message: 'is required' }],
    ])
  })

  it('changes it by the password, and gets a mail', async () => {
    const user = await aUser(byUsername)
    const username = aName()
    const token = await tokenOf(user.username)
    const wrong = await change(token, { username, current_password: 'wrong' })
    expect([wrong.statusCode, (await logIn(byUsername, username)).statusCode]).toEqual([422, 401])
    expect((await change(token, { username, current_password: PASSWORD })).statusCode).toBe(204)
    expect((await mailTo(byUsername, user.email, 'username-changed')).variables.at).toBeDefined()
    expect((await logIn(byUsername, username)).statusCode).toBe(200)
    expect((await logIn(byUsername, user.username)).statusCode).toBe(401)
  })

  it('changes it to none that is taken, malformed, or the e-mail of somebody else', async () => {
    const [user, other] = [await aUser(byUsername), await aUser(byUsername)]
    const token = await tokenOf(user.username)
    const taken = await change(token, { username: other.username.toUpperCase(), current_password: PASSWORD })
    expect([taken.statusCode, taken.json().type]).toEqual([409, 'urn:latchkey:problem:username-taken'])
    for (const username of ['', ' a', 'a\u200bb', 'x'.repeat(21)])
      expect((await change(token, { username, current_password: PASSWORD })).statusCode, username).toBe(400)
    const foreign = await change(token, { username: 'someone@x.org', current_password: PASSWORD })
    expect([foreign.statusCode, foreign.json().errors]).toEqual([
      400,
      [{ path: 'username', message: 'must not be the e-mail of another account' }],
    ])
  })

  it('changes it a few times an hour', async () => {
    await using limited = await startApp({ settings: { LOGIN_FIELD: 'username', RATE_LIMIT_RESET: '3' } })
    const user = await aUser(limited)
    const { token } = (await logIn(limited, user.username)).json()
    const statuses: number[] = []
    for (let nth = 0; nth < 4; nth++) {
      const payload = { username: aName(), current_password: PASSWORD }
      const headers = bearer(token)
      const response = await limited.server.inject({
        method: 'PUT',
        url: '/profile/username',
        payload,
        headers,
      })
      statuses.push(response.statusCode)
    }
    expect(statuses).toEqual([204, 204, 204, 429])
  })
})
