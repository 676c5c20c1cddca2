import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import {
  BAN_PROPERTY,
  confirmEmail,
  hasConfirmedEmail,
  UNCONFIRMED_PROPERTY,
} from '@latchkey/shared/users/account-state.ts'
import { createManyUsersRepository } from '@latchkey/shared/users/many-users-repository.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import { hasPassword } from '@latchkey/shared/users/user.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTokenSigner } from '../../services/auth-api/src/tokens/issue-token.ts'
import { importSecret } from '../../services/auth-api/src/tokens/signing-keys.ts'
import { answer, challengeOf, codeAt, enrolUser, post } from '../../services/auth-api/test/support/factors.ts'
import { aDevice, ORIGIN, passkeySettings } from '../../services/auth-api/test/support/passkeys.ts'
import {
  aToken,
  bearer,
  codeTo,
  logIn,
  startApp,
  type TestApp,
} from '../../services/auth-api/test/support/start-app.ts'
import { banAccount, unbanAccount } from '../accounts/ban-account.ts'
import { describeAccount, describeAccounts } from '../accounts/describe-account.ts'
import type { AdminContext } from '../admin-context.ts'

const HOUR_MS = 3_600_000
const NEW_PASSWORD = 'N3w-p4ssw0rd!'

let database: TestDatabase
let app: TestApp
let context: AdminContext
beforeAll(async () => {
  database = await createTestDatabase()
})
// One for each test: the audit trail logs equal events of a minute once, and few different ones of an address.
beforeEach(async () => {
  app = await startApp({ settings: passkeySettings({ REVOCATION_CACHE: '0' }), database })
  context = {
    db: app.database.db,
    policy: DEFAULT_POLICY,
    hashPassword: async (password) => password,
    acceptedSchemes: ['sha1'],
    localNow: Date.now,
    notify: async () => undefined,
  }
})
afterEach(() => app[Symbol.asyncDispose]())
afterAll(() => database[Symbol.asyncDispose]())

const ban = ({ username }: TestUser, until = '', reason = '') =>
  banAccount(context, username, { until, reason })

/** Keeps a user out whose tokens and challenges go on, as after a ban that an older replica has not seen. */
const keepOut = ({ userid }: TestUser, property: string, value: string) =>
  app.users.setProperty(userid, property, value)

/** Adds a passkey to a user; returns what signs with it. */
async function aPasskey(user: TestUser) {
  const emulator = aDevice()
  const token = await aToken(app, user)
  const begun = await post(app, '/profile/factors/passkey', { current_password: PASSWORD }, token)
  const credential = emulator.createJSON(ORIGIN, begun.json().publicKey)
  await post(app, '/profile/factors/passkey/confirm', { credential }, token)
  return async (challenge?: string) => {
    const options = await post(app, '/login/passkey/options', { challenge })
    return post(app, '/login/passkey', { credential: emulator.getJSON(ORIGIN, options.json().publicKey) })
  }
}

/** Each way in: prepares a user, and returns the last request of the login. */
const WAYS_IN: Record<string, (user: TestUser) => Promise<() => ReturnType<typeof post>>> = {
  'a password':
    async ({ email }) =>
    () =>
      logIn(app, email),
  'a code after the password': async (user) => {
    const { secret } = await enrolUser(app, user, Date.now())
    const challenge = await challengeOf(app, user)
    return () => answer(app, challenge, codeAt(secret, Date.now() + 30_000))
  },
  'a recovery code after the password': async (user) => {
    const { recoveryCodes } = await enrolUser(app, user, Date.now())
    const challenge = await challengeOf(app, user)
    return () => answer(app, challenge, recoveryCodes[0] ?? '')
  },
  'a passkey after the password': async (user) => {
    const send = await aPasskey(user)
    const challenge = await challengeOf(app, user)
    return () => send(challenge)
  },
  'a passkey alone': async (user) => {
    const send = await aPasskey(user)
    return () => send()
  },
  'a refresh token': async ({ email }) => {
    const login = await post(app, '/login', { username: email, password: PASSWORD, remember: true })
    return () => post(app, '/refreshtoken', { refresh_token: login.json().refresh_token })
  },
  'a refresh': async (user) => {
    const token = await aToken(app, user)
    app.setClock(Date.now() + HOUR_MS - 60_000)
    return () => post(app, '/refreshtoken', {}, token)
  },
}

describe.each(Object.entries(WAYS_IN))('%s', (way, prepare) => {
  const STATES = [
    {
      state: 'a ban',
      property: BAN_PROPERTY,
      value: 'forever spam',
      problem: {
        type: 'urn:latchkey:problem:account-banned',
        detail: 'The account is banned; ask the support',
      },
    },
    {
      state: 'a ban with an end',
      property: BAN_PROPERTY,
      value: '2100-01-01T00:00:00.000Z ',
      problem: {
        detail: 'The account is banned; try again after 2100-01-01T00:00:00.000Z',
        banned_until: '2100-01-01T00:00:00.000Z',
      },
    },
    {
      state: 'a ban whose end nobody can read',
      property: BAN_PROPERTY,
      value: 'soon',
      problem: { type: 'urn:latchkey:problem:account-banned' },
    },
    {
      state: 'an e-mail that is not confirmed',
      property: UNCONFIRMED_PROPERTY,
      value: 'import',
      problem: { type: 'urn:latchkey:problem:email-unconfirmed' },
    },
  ]
  it.each(STATES)(
    'is refused after all that a login needs, with $state',
    async ({ property, value, problem }) => {
      const user = await aUser(app)
      const send = await prepare(user)
      await keepOut(user, property, value)
      const before = app.logLines.length
      const refused = await send()
      expect(refused.json()).toMatchObject({ status: 403, ...problem })
      expect(refused.body).not.toContain('spam')
      const logged = app.logLines.slice(before).map((line) => JSON.parse(line).msg)
      expect(logged).not.toContain('login.succeeded')
      expect(logged.includes('login.refused')).toBe(!way.includes('refresh'))
    },
  )

  it('succeeds once the ban has ended', async () => {
    const user = await aUser(app)
    const send = await prepare(user)
    await keepOut(user, BAN_PROPERTY, new Date(Date.now() - 1_000).toISOString())
    expect((await send()).statusCode).toBe(200)
  })
})

describe('Users::ban', () => {
  it('ends tokens, refreshes and codes of the user, and no other; Users::unban lets the user log in again', async () => {
    const [user, neighbour] = [await aUser(app), await aUser(app)]
    const [token, others] = [await aToken(app, user), await aToken(app, neighbour)]
    const { token: reset } = (await post(app, '/login/resetrequest', { email: user.email })).json()
    const code = await codeTo(app, user.email)
    const profile = async (of: string) =>
      (await app.server.inject({ url: '/profile', headers: bearer(of) })).statusCode
    expect([await profile(token), await profile(others)]).toEqual([200, 200])

    await ban(user, '', '  spam, ticket 4711 ')
    expect([await profile(token), await profile(others)]).toEqual([401, 200])
    app.setClock(Date.now() + HOUR_MS - 60_000)
    expect((await post(app, '/refreshtoken', {}, token)).statusCode).toBe(401)
    app.setClock(undefined)
    const confirmed = await post(app, '/login/confirmcode', { email: user.email, code, token: reset })
    expect(confirmed.statusCode).toBe(422)
    expect((await logIn(app, user.email)).statusCode).toBe(403)
    const [event] = await createAuditRepository(context.db).findNewest(user.userid, 1)
    expect(event).toMatchObject({ name: 'account.banned', reason: 'spam, ticket 4711' })

    await unbanAccount(context, user.email)
    expect((await logIn(app, user.email)).statusCode).toBe(200)
    expect(await profile(token), 'a token from before').toBe(401)
    await expect(unbanAccount(context, user.email)).rejects.toThrow(`${user.username} is not banned`)
  })

  it('says nothing to anybody else: neither by the answer nor by another statement', async () => {
    const [banned, free] = [await aUser(app), await aUser(app)]
    await ban(banned)
    const guess = async (email: string) => {
      const { instance: _, ...body } = (await logIn(app, email, 'wrong')).json()
      return body
    }
    expect(await guess(banned.email)).toEqual(await guess(free.email))
    expect(await guess(banned.email)).toMatchObject({ type: 'urn:latchkey:problem:invalid-credentials' })
  })

  it('ends by itself at its time, and a new ban replaces an earlier one', async () => {
    const user = await aUser(app)
    await ban(user)
    await ban(user, new Date(Date.now() + HOUR_MS).toISOString())
    expect((await logIn(app, user.email)).statusCode).toBe(403)
    app.setClock(Date.now() + HOUR_MS + 1_000)
    expect((await logIn(app, user.email)).statusCode).toBe(200)
  })

  it('is shown, and so is an e-mail that is not confirmed', async () => {
    const user = await aUser(app)
    const show = async () => describeAccount((await app.users.findById(user.userid)) ?? ada(), Date.now())
    const list = async () =>
      describeAccounts(await createManyUsersRepository(context.db).list(user.username, 10), Date.now())
    expect([await show(), await list()].join()).not.toMatch(/banned +[^ ]|not confirmed/)
    await ban(user, '2100-01-01', 'spam')
    await keepOut(user, UNCONFIRMED_PROPERTY, 'import')
    expect(await show()).toMatch(/^banned +2100-01-01T00:00:00.000Z spam$/m)
    expect(await show()).toMatch(/^e-mail +not confirmed/m)
    expect(await list()).toMatch(/banned 2100-01-01T00:00:00.000Z$/)
  })

  it.each([
    { until: 'tomorrow', reason: '', says: 'until must be a date or a time such as' },
    { until: '2020-01-01', reason: '', says: 'until must be in the future' },
    { until: '0000-00-00', reason: '', says: 'until must be a date' },
    { until: '', reason: 'x'.repeat(101), says: 'reason must be one line of at most 100 characters' },
    { until: '', reason: 'two\nlines', says: 'reason must be one line' },
    { until: 'never', reason: '\u0000', says: '; reason must be one line' },
  ])('refuses until $until for $reason, and changes nothing', async ({ until, reason, says }) => {
    const user = await aUser(app)
    await expect(ban(user, until, reason)).rejects.toThrow(says)
    expect((await logIn(app, user.email)).statusCode).toBe(200)
  })
})

describe('an e-mail that is not confirmed', () => {
  it('is confirmed by the code of a reset, after which no password from before works', async () => {
    const user = await aUser(app)
    const { email } = user
    await keepOut(user, UNCONFIRMED_PROPERTY, 'import')
    const { token } = (await post(app, '/login/resetrequest', { email })).json()
    await post(app, '/login/confirmcode', { email, token, code: await codeTo(app, email) })
    expect((await logIn(app, email)).statusCode, 'before there is a new password').toBe(403)
    await post(app, '/login/resetpassword', { email, token, password: NEW_PASSWORD })
    expect([
      (await logIn(app, email, NEW_PASSWORD)).statusCode,
      (await logIn(app, email)).statusCode,
    ]).toEqual([200, 401])
  })

  it('is confirmed by any other mail, which ends the password: it may be that of a stranger', async () => {
    const user = await aUser(app)
    const confirm = async () => confirmEmail(app.users, (await app.users.findById(user.userid)) ?? ada())
    await confirm()
    expect((await logIn(app, user.email)).statusCode, 'of a confirmed one').toBe(200)
    await keepOut(user, UNCONFIRMED_PROPERTY, 'import')
    await confirm()
    const found = (await app.users.findById(user.userid)) ?? ada()
    expect([hasConfirmedEmail(found), hasPassword(found)]).toEqual([true, false])
  })
})

it('no token is signed for a user who is kept out, whoever asks for it', async () => {
  const key = await importSecret(new Uint8Array(64))
  const sign = createTokenSigner({ key, issuer: 'http://localhost:8080', lifetimeSeconds: 60 })
  const properties = (name: string) => [{ name, value: 'forever' }]
  for (const name of [BAN_PROPERTY, UNCONFIRMED_PROPERTY])
    await expect(sign(ada({ properties: properties(name) }), 1_000)).rejects.toMatchObject({
      code: name === BAN_PROPERTY ? 'account_banned' : 'email_unconfirmed',
    })
})
