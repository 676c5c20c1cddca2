import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { aToken, bearer, logIn, startApp, type TestApp } from './support/start-app.ts'

const NEW_PASSWORD = 'N3w-p4ssw0rd!'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { RATE_LIMIT_LOGIN: '3', TRUST_PROXY: '127.0.0.1' } })
})
afterEach(() => {
  app.setClock(undefined)
  vi.restoreAllMocks()
})
afterAll(() => app[Symbol.asyncDispose]())

let hosts = 0
/** An address that no other test uses: failures of a test count only for it. */
const anAddress = () => `10.1.${Math.floor(++hosts / 250)}.${hosts % 250}`

const change = (token: string, payload: object, address = anAddress()) =>
  app.server.inject({
    method: 'PUT',
    url: '/profile/password',
    headers: { ...bearer(token), 'x-forwarded-for': address },
    payload,
  })
const ping = async (token: string) =>
  (await app.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode
/** A moment before a token was issued, within the leeway that its `nbf` has. */
const secondsBefore = (token: string) => ((decodeJwt(token).iat ?? 0) - 4) * 1000
const logInFrom = (address: string, username: string, password: string) =>
  app.server.inject({
    method: 'POST',
    url: '/login',
    headers: { 'x-forwarded-for': address },
    payload: { username, password },
  })

describe('PUT /profile/password', () => {
  it('changes the password, ends all tokens at once, and answers with a new one', async () => {
    const user = await aUser(app)
    const [token, other] = [await aToken(app, user), await aToken(app, user)]
    const response = await change(token, { current_password: PASSWORD, password: NEW_PASSWORD })
    expect(response.statusCode, response.body).toBe(200)
    expect(response.json().data).toEqual({ userid: user.userid, name: 'Ada', role: 'user' })
    for (const ended of [token, other]) expect(await ping(ended)).toBe(401)
    expect(await ping(response.json().token), 'the new one').toBe(200)
    expect(decodeJwt(response.json().token).sid).not.toBe(decodeJwt(token).sid)
    expect((await logIn(app, user.email)).statusCode, 'with the old password').toBe(401)
    expect((await logIn(app, user.email, NEW_PASSWORD)).statusCode).toBe(200)
    expect(app.logLines.some((line) => line.includes('password.changed') && line.includes(user.userid))).toBe(
      true,
    )
    expect(app.logLines.join('\n')).not.toMatch(new RegExp(`${NEW_PASSWORD}|${PASSWORD}`))
  })

  it('ends its own token although the clock was set back since', async () => {
    const token = await aToken(app, await aUser(app))
    app.setClock(secondsBefore(token))
    const response = await change(token, { current_password: PASSWORD, password: NEW_PASSWORD })
    expect(response.statusCode, response.body).toBe(200)
    expect(await ping(token)).toBe(401)
    expect(await ping(response.json().token), 'the new one').toBe(200)
  })

  it('answers 422 to a wrong current password and changes nothing', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const response = await change(token, { current_password: 'wrong', password: NEW_PASSWORD })
    expect(response.statusCode).toBe(422)
    expect(response.json().type).toBe('urn:latchkey:problem:wrong-password')
    expect(await ping(token)).toBe(200)
    expect((await logIn(app, user.email)).statusCode).toBe(200)
  })

  it('counts a wrong current password like a failed login, and failed logins like it', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const address = anAddress()
    const wrong = { current_password: 'wrong', password: NEW_PASSWORD }
    expect((await change(token, wrong, address)).statusCode).toBe(422)
    expect((await logInFrom(address, user.email.toUpperCase(), 'wrong')).statusCode).toBe(401)
    expect((await change(token, wrong, address)).statusCode).toBe(422)
    const verify = vi.spyOn(app.passwords, 'verify')
    const right = { current_password: PASSWORD, password: NEW_PASSWORD }
    expect((await change(token, right, address)).statusCode, 'the right one').toBe(429)
    expect((await logInFrom(address, user.email, PASSWORD)).statusCode).toBe(429)
    expect(verify).not.toHaveBeenCalled()
    expect((await change(token, right)).statusCode, 'from another address').toBe(200)
  })

  it('refuses a password that breaks the policy before it verifies or hashes anything', async () => {
    const token = await aToken(app, await aUser(app))
    const [verify, hash] = [vi.spyOn(app.passwords, 'verify'), vi.spyOn(app.passwords, 'hash')]
    const refused = await change(token, { current_password: PASSWORD, password: 'short' })
    expect(refused.statusCode).toBe(422)
    expect(refused.json()).toMatchObject({
      type: 'urn:latchkey:problem:password-refused',
      violations: [
        { rule: 'MINIMUM_CHARS', number: 12 },
        { rule: 'REQUIRE_UPPERCASE', number: 1 },
        { rule: 'REQUIRE_SYMBOLS', number: 1 },
        { rule: 'REQUIRE_NUMBERS', number: 1 },
      ],
    })
    expect(verify).not.toHaveBeenCalled()
    expect(hash).not.toHaveBeenCalled()
  })

  it('hashes nothing for a wrong current password', async () => {
    const token = await aToken(app, await aUser(app))
    const hash = vi.spyOn(app.passwords, 'hash')
    await change(token, { current_password: 'wrong', password: NEW_PASSWORD })
    expect(hash).not.toHaveBeenCalled()
  })

  it('is refused to a token that was ended a moment ago, with the right password', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    expect(await ping(token), 'remembered').toBe(200)
    await app.users.setProperty(user.userid, 'latchkey.valid_from', String(Math.floor(Date.now() / 1000) + 2))
    const response = await change(token, { current_password: PASSWORD, password: NEW_PASSWORD })
    expect(response.statusCode).toBe(401)
    expect((await logIn(app, user.email)).statusCode).toBe(200)
  })

  it.each([
    { body: {}, path: 'password' },
    { body: { password: NEW_PASSWORD }, path: 'current_password' },
    { body: { current_password: PASSWORD }, path: 'password' },
    { body: { current_password: '', password: NEW_PASSWORD }, path: 'current_password' },
    { body: { current_password: 1, password: NEW_PASSWORD }, path: 'current_password' },
    { body: { current_password: PASSWORD, password: '\ud800A1!aaaaaaaa' }, path: 'password' },
  ])('answers 400 to $body', async ({ body, path }) => {
    const response = await change(await aToken(app, await aUser(app)), body)
    expect(response.statusCode).toBe(400)
    expect(response.json().errors[0].path).toBe(path)
  })
})
