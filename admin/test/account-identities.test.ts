import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { NO_PASSWORD } from '@latchkey/shared/users/user.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { post } from '../../services/auth-api/test/support/factors.ts'
import { aFakeProvider } from '../../services/auth-api/test/support/fake-provider.ts'
import { APP_PAGE } from '../../services/auth-api/test/support/provider-browser.ts'
import { aToken, bearer, startApp, type TestApp } from '../../services/auth-api/test/support/start-app.ts'
import {
  addAccountIdentity,
  describeIdentities,
  removeAccountIdentity,
} from '../accounts/account-identities.ts'
import type { AdminContext } from '../admin-context.ts'

const fake = aFakeProvider()
let app: TestApp
const told: string[] = []
let context: AdminContext
beforeAll(async () => {
  app = await startApp({
    settings: { CORS_ORIGINS: new URL(APP_PAGE).origin },
    providers: new Map([['fake', fake.provider]]),
  })
  context = {
    db: app.database.db,
    policy: DEFAULT_POLICY,
    hashPassword: async (password) => password,
    acceptedSchemes: ['sha1'],
    localNow: Date.now,
    notify: async (_transaction, { username }, { template }) => void told.push(`${username} ${template}`),
  }
})
afterAll(() => app[Symbol.asyncDispose]())

const logInAs = async (subject: string) => {
  const { code, code_verifier } = await fake.comeBack(app, { subject })
  return post(app, '/login/exchange', { code, code_verifier })
}

it('adds an identity by which the user logs in, and removes it with the tokens', async () => {
  const user = await aUser(app)
  const shown = { provider: 'fake', subject: crypto.randomUUID() }
  await addAccountIdentity(context, user.email, shown)
  const { token, data } = (await logInAs(shown.subject)).json()
  expect(data.userid).toBe(user.userid)
  const list = async () => describeIdentities(await createIdentityRepository(context.db).list(user.userid))
  expect(await list()).toMatch(new RegExp(`^provider .*\\nfake +${shown.subject} `))
  await expect(addAccountIdentity(context, (await aUser(app)).email, shown)).rejects.toMatchObject({
    code: 'identity_taken',
  })

  await removeAccountIdentity(context, user.username, shown)
  expect(await list()).toBe('The user has no identity.')
  expect((await logInAs(shown.subject)).statusCode).not.toBe(200)
  const profile = await app.server.inject({ url: '/profile', headers: bearer(token) })
  expect(profile.statusCode).toBe(401)
  const events = await createAuditRepository(context.db).findNewest(user.userid, 10)
  expect(events.map(({ name, reason }) => `${name} ${reason}`)).toEqual(
    expect.arrayContaining(['identity.added fake', 'identity.removed fake']),
  )
  const toldUser = told.filter((line) => line.startsWith(`${user.username} `))
  expect(toldUser).toEqual([`${user.username} identity-added`, `${user.username} identity-removed`])
})

it('leaves the last way in, and what is not the user’s', async () => {
  const [user, other] = [await aUser(app), await aUser(app)]
  const shown = { provider: 'fake', subject: crypto.randomUUID() }
  await addAccountIdentity(context, user.email, shown)
  await expect(removeAccountIdentity(context, other.email, shown)).rejects.toThrow('has no such identity')
  await app.users.setPassword(user.userid, NO_PASSWORD)
  await expect(removeAccountIdentity(context, user.email, shown)).rejects.toMatchObject({
    code: 'last_way_in',
  })
})

it.each([
  { provider: 'No Provider', subject: 'x' },
  { provider: 'fake', subject: '' },
  { provider: 'fake', subject: 'a b' },
])('refuses %o', async (shown) => {
  const user = await aUser(app)
  await expect(addAccountIdentity(context, user.email, shown)).rejects.toThrow(/^No identity was added: /)
  expect(await aToken(app, user)).toBeDefined()
})
