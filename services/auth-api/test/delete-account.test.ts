import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aToken, bearer, codeTo, logIn, queuedMails, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { ACCOUNT_DELETION: 'on' } })
})
afterAll(() => app[Symbol.asyncDispose]())

const NEW_PASSWORD = 'N3w-p4ssw0rd!'
const post = (url: string, payload: object, headers: object = {}, on = app) =>
  on.server.inject({ method: 'POST', url, payload, headers: { ...headers } })
const deleteOwn = (token: string, currentPassword = PASSWORD, on = app) =>
  post('/profile/delete', { current_password: currentPassword }, bearer(token), on)

it('ends the account, every token and every code of it, with a mail and an event', async () => {
  const [user, neighbour] = [await aUser(app), await aUser(app)]
  const [token, elsewhere, unused, neighbours] = [
    await aToken(app, user),
    await aToken(app, user),
    await aToken(app, user),
    await aToken(app, neighbour),
  ]
  const { email } = user
  await post('/login/resetrequest', { email })
  const { token: confirmed } = (
    await post('/login/confirmcode', { email, code: await codeTo(app, email) })
  ).json()

  const ping = async () =>
    (await app.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode
  // From now on the replica remembers that the token is valid.
  expect(await ping()).toBe(200)
  expect((await deleteOwn(token)).statusCode).toBe(204)
  expect(await ping(), 'at once').toBe(401)
  for (const ended of [token, elsewhere]) expect((await deleteOwn(ended)).statusCode).toBe(401)
  expect((await logIn(app, email)).statusCode).toBe(401)
  const reset = { email, token: confirmed, password: NEW_PASSWORD }
  expect((await post('/login/resetpassword', reset)).statusCode).toBe(422)
  const profile = await app.server.inject({ url: '/profile', headers: bearer(neighbours) })
  expect(profile.statusCode, 'of another user').toBe(200)

  const templates = async () =>
    (await queuedMails(app)).filter(({ to }) => to === email).map(({ template }) => template)
  await expect.poll(templates).toContain('account-deleted')
  const events = await createAuditRepository(app.database.db).findNewest(user.userid, 10)
  expect(events.find(({ name }) => name === 'account.deleted')).toMatchObject({ address: '127.0.0.1' })

  await app.users.restore(user.userid)
  expect((await deleteOwn(unused)).statusCode, 'a token from before, once restored').toBe(401)
  expect((await post('/login/resetpassword', reset)).statusCode, 'a reset from before').toBe(422)
  expect((await logIn(app, email)).statusCode).toBe(200)
})

it('needs the current password, and a wrong one counts as a failed login', async () => {
  await using limited = await startApp({
    database: app.database,
    settings: { ACCOUNT_DELETION: 'on', RATE_LIMIT_LOGIN: '3' },
  })
  const user = await aUser(limited)
  const token = await aToken(limited, user)
  expect((await post('/profile/delete', {}, bearer(token), limited)).json()).toMatchObject({
    status: 400,
    errors: [{ path: 'current_password', message: 'is required' }],
  })
  expect((await post('/profile/delete', { current_password: PASSWORD }, {}, limited)).statusCode).toBe(401)
  for (let guess = 0; guess < 3; guess++)
    expect((await deleteOwn(token, 'wrong', limited)).json().type).toBe('urn:latchkey:problem:wrong-password')
  expect((await deleteOwn(token, PASSWORD, limited)).statusCode).toBe(429)
  expect((await limited.users.findById(user.userid))?.deletedAt).toBeNull()
})

it('is not there unless ACCOUNT_DELETION is on', async () => {
  await using off = await startApp({ database: app.database })
  expect((await deleteOwn(await aToken(off, await aUser(off)), PASSWORD, off)).statusCode).toBe(404)
})
