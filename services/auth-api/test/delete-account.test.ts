import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { createErasureRepository } from '@latchkey/shared/users/erasure.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eraseDueAccounts } from '../src/features/account/erase-accounts.ts'
import {
  aToken,
  bearer,
  codeTo,
  logIn,
  mailTo,
  queuedMails,
  softDelete,
  startApp,
  type TestApp,
} from './support/start-app.ts'

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

it('is not there while ACCOUNT_DELETION is off', async () => {
  await using off = await startApp({ database: app.database })
  expect((await deleteOwn(await aToken(off, await aUser(off)), PASSWORD, off)).statusCode).toBe(404)
})

describe('with erase', () => {
  const DAY_MS = 86_400_000
  const erase = (token: string, on = app) =>
    post('/profile/delete', { current_password: PASSWORD, erase: true }, bearer(token), on)
  const eraseDue = (now: number) => eraseDueAccounts({ db: app.database.db, localNow: () => now })
  const find = async (userid: string) => createErasureRepository(app.database.db).find(userid)

  it('keeps the data for ERASURE_DAYS, which the mail says, and erases it then', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const now = Date.now()
    expect((await erase(token)).statusCode).toBe(204)
    expect((await erase(token)).statusCode, 'twice').toBe(401)
    const mail = await mailTo(app, user.email, 'account-deleted')
    expect(mail.variables.erasure).toMatch(/ UTC$/)
    const { dueAt = new Date(0) } = (await find(user.userid)) ?? {}
    expect(Math.abs(dueAt.getTime() - now - 30 * DAY_MS)).toBeLessThan(60_000)

    await eraseDue(now + 29 * DAY_MS)
    expect(await app.users.findById(user.userid)).toMatchObject({ email: user.email, name: 'Ada' })
    await eraseDue(now + 31 * DAY_MS)
    const erased = await app.users.findById(user.userid)
    expect(erased).toMatchObject({ email: null, name: null, passwordHash: '!', role: null, properties: [] })
    expect(erased?.username).toMatch(/^erased-[0-9a-f]{13}$/)
    expect(erased?.deletedAt).not.toBeNull()
    expect((await find(user.userid))?.erasedAt).toEqual(new Date(now + 31 * DAY_MS))
    await eraseDue(now + 32 * DAY_MS)
    expect(await app.users.findById(user.userid), 'once').toEqual(erased)
  })

  it('erases nobody whose account another program has restored', async () => {
    const user = await aUser(app)
    await erase(await aToken(app, user))
    await app.users.restore(user.userid)
    await eraseDue(Date.now() + 31 * DAY_MS)
    expect(await app.users.findById(user.userid)).toMatchObject({ email: user.email, deletedAt: null })
    expect(await find(user.userid)).toBeUndefined()
  })

  it.each([
    { setting: 'on', given: {}, isErased: false },
    { setting: 'on', given: { erase: false }, isErased: false },
    { setting: 'erase', given: {}, isErased: true },
    { setting: 'erase', given: { erase: false }, isErased: false },
  ])('ACCOUNT_DELETION=$setting with $given: $isErased', async ({ setting, given, isErased }) => {
    await using other = await startApp({ database: app.database, settings: { ACCOUNT_DELETION: setting } })
    const user = await aUser(other)
    const body = { current_password: PASSWORD, ...given }
    const deleted = await post('/profile/delete', body, bearer(await aToken(other, user)), other)
    expect(deleted.statusCode).toBe(204)
    expect((await find(user.userid)) !== undefined).toBe(isErased)
    expect((await mailTo(other, user.email, 'account-deleted')).variables.erasure !== undefined).toBe(
      isErased,
    )
  })

  it('is refused for the last admin, and changes nothing', async () => {
    await using alone = await startApp({ settings: { ACCOUNT_DELETION: 'erase' } })
    const [admin, other] = [await aUser(alone, { role: 'admin' }), await aUser(alone, { role: 'admin' })]
    await softDelete(alone, other)
    const token = await aToken(alone, admin)
    expect((await erase(token, alone)).json()).toMatchObject({
      type: 'urn:latchkey:problem:last-admin',
      status: 409,
      detail: 'This is the last user with the role admin; give the role to another user first',
    })
    const profile = await alone.server.inject({ url: '/profile', headers: bearer(token) })
    expect(profile.statusCode).toBe(200)
    await aUser(alone, { role: 'admin' })
    expect((await erase(token, alone)).statusCode).toBe(204)
  })

  it('says that erase must be true or false', async () => {
    const token = await aToken(app, await aUser(app))
    const body = { current_password: PASSWORD, erase: 'yes' }
    expect((await post('/profile/delete', body, bearer(token))).json()).toMatchObject({
      status: 400,
      errors: [{ path: 'erase', message: 'must be true or false' }],
    })
  })
})
