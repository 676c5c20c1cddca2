import { randomBytes } from 'node:crypto'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { NO_PASSWORD } from '@latchkey/shared/users/user.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Change as GuardedChange } from '../src/features/account/begin-change.ts'
import { answer, challengeOf, codeAt, enrol, enrolUser, post } from './support/factors.ts'
import { aFakeProvider } from './support/fake-provider.ts'
import { aDevice, ORIGIN, passkeySettings } from './support/passkeys.ts'
import { APP_PAGE } from './support/provider-browser.ts'
import { aToken, bearer, codeTo, logIn, startApp, type TestApp } from './support/start-app.ts'

const STEP_MS = 30_000
const START = Math.ceil(Date.now() / STEP_MS) * STEP_MS
const STALE_MS = 301_000
const NEW_PASSWORD = 'N3w-p4ssw0rd!'

const fake = aFakeProvider()

/** Two replicas on one database. */
let app: TestApp
let replica: TestApp
/** A replica whose users log in by the username, which they can change. */
let byUsername: TestApp
/** Called before each transaction of `app`: after what a request reads before it, and verifies. */
let beforeTransaction: (() => Promise<unknown>) | undefined

beforeAll(async () => {
  const database = await createTestDatabase()
  const settings = passkeySettings({
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    EMAIL_CHANGE: 'confirmed',
    ACCOUNT_DELETION: 'on',
    REFRESH_WINDOW: '3599',
    SECOND_FACTOR_ROLES: 'admin',
    CORS_ORIGINS: new URL(APP_PAGE).origin,
  })
  const providers = new Map([['fake', fake.provider]])
  app = await startApp({ database: watched(database), settings, providers })
  replica = await startApp({ database, settings, providers })
  byUsername = await startApp({ database, settings: { ...settings, LOGIN_FIELD: 'username' }, providers })
})
beforeEach(() => {
  beforeTransaction = undefined
  setClocks(START)
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await byUsername[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await app.database[Symbol.asyncDispose]()
})

const watched = (database: TestDatabase): TestDatabase => ({
  ...database,
  db: {
    ...database.db,
    async transaction(work) {
      await beforeTransaction?.()
      return database.db.transaction(work)
    },
  },
})

let now = START
function setClocks(time: number): number {
  now = time
  for (const each of [app, replica, byUsername]) each.setClock(time)
  return time
}

type Response = Awaited<ReturnType<typeof post>>

const send = (
  on: TestApp,
  token: string,
  method: 'GET' | 'PUT' | 'DELETE',
  url: string,
  payload?: object,
): Promise<Response> => on.server.inject({ method, url, headers: bearer(token), ...(payload && { payload }) })

/** `ok`, or the slug of the problem. */
const outcomeOf = (response: Response): string =>
  response.statusCode < 300 ? 'ok' : response.json().type.replace('urn:latchkey:problem:', '')

const listOf = async (token: string) => (await send(app, token, 'GET', '/profile/factors')).json()

const createPasskey = (options: Response, device = aDevice()) =>
  device.createJSON(ORIGIN, options.json().publicKey)

/** Adds a passkey; returns the token that it is answered with. */
async function addPasskey(token: string, device = aDevice()): Promise<string> {
  const options = await post(app, '/profile/factors/passkey', { current_password: PASSWORD }, token)
  const credential = createPasskey(options, device)
  const added = await post(app, '/profile/factors/passkey/confirm', { credential }, token)
  if (added.statusCode !== 200) throw new Error(`The passkey was answered ${added.body}`)
  return added.json().token
}

/** Adds an authenticator app by a token; its next code is that of the step after. */
const addApp = (token: string) => enrol(app, token, now)

/** The changes of the guard, with `addFactor` for each kind of factor. */
type Change = Exclude<GuardedChange, 'addFactor'> | 'addApp' | 'addPasskey'

/** An attempt at a change. */
interface Attempt {
  user: TestUser
  token: string
  /** Undefined for a user without a password. */
  currentPassword: string | undefined
  /** The secret of the user's authenticator app. */
  secret?: string | undefined
}

/** A change: what begins it, and what completes it. One of a single step has no `begin`. */
interface Steps {
  begin?: (attempt: Attempt) => Promise<Response>
  finish: (on: TestApp, attempt: Attempt, begun: Response | undefined) => Promise<Response>
}

const ofFirstFactor = async (
  on: TestApp,
  { user, token }: Attempt,
  method: 'PUT' | 'DELETE',
  body?: object,
) => {
  const factors = await createFactorRepository(app.database.db).find(user.userid)
  const factor = factors.find(({ confirmedAt }) => confirmedAt)
  return send(on, token, method, `/profile/factors/${factor?.id ?? crypto.randomUUID()}`, body)
}

const newEmailOf = ({ username }: TestUser) => `new-${username}@example.com`

const CHANGES: Record<Change, Steps> = {
  addApp: {
    begin: ({ token, currentPassword }) =>
      post(app, '/profile/factors/totp', { current_password: currentPassword }, token),
    finish: (on, { token }, begun) =>
      post(on, '/profile/factors/totp/confirm', { code: codeAt(begun?.json().secret, now) }, token),
  },
  addPasskey: {
    begin: ({ token, currentPassword }) =>
      post(app, '/profile/factors/passkey', { current_password: currentPassword }, token),
    finish: (on, { token }, begun) =>
      post(on, '/profile/factors/passkey/confirm', { credential: begun && createPasskey(begun) }, token),
  },
  confirmNewEmail: {
    begin: ({ user, token, currentPassword }) =>
      send(app, token, 'PUT', '/profile', { email: newEmailOf(user), current_password: currentPassword }),
    finish: async (on, { user, token }) =>
      post(on, '/profile/confirmemail', { code: await codeTo(app, newEmailOf(user)) }, token),
  },
  renewRecoveryCodes: {
    begin: ({ token }) => post(app, '/profile/factors/recoverycodes', {}, token),
    finish: (on, { token }, begun) =>
      post(on, '/profile/factors/recoverycodes/confirm', { challenge: begun?.json().challenge }, token),
  },
  changePassword: {
    finish: (on, { token, currentPassword }) =>
      send(on, token, 'PUT', '/profile/password', {
        current_password: currentPassword,
        password: `Other-${NEW_PASSWORD}`,
      }),
  },
  deleteAccount: {
    finish: (on, { token, currentPassword }) =>
      post(on, '/profile/delete', { current_password: currentPassword }, token),
  },
  stepUp: {
    finish: (on, { token, secret, currentPassword }) => {
      const code = secret && codeAt(secret, setClocks(now + STEP_MS))
      return post(on, '/login/stepup', code ? { code } : { current_password: currentPassword }, token)
    },
  },
  setEmail: {
    finish: (on, { user, token }) => send(on, token, 'PUT', '/profile', { email: user.email.toUpperCase() }),
  },
  renameFactor: {
    finish: (on, attempt) => ofFirstFactor(on, attempt, 'PUT', { name: 'Phone' }),
  },
  removeFactor: {
    finish: (on, attempt) => ofFirstFactor(on, attempt, 'DELETE'),
  },
  setUsername: {
    finish: (_on, { token, currentPassword }) =>
      send(byUsername, token, 'PUT', '/profile/username', {
        username: `n${crypto.randomUUID().slice(0, 8)}`,
        current_password: currentPassword,
      }),
  },
  addIdentity: {
    finish: async (on, { token }) => {
      const { code, code_verifier } = await fake.comeBack(on)
      return post(on, '/profile/identities', { code, code_verifier }, token)
    },
  },
  removeIdentity: {
    async finish(on, { user: { userid }, token }) {
      const identities = createIdentityRepository(app.database.db)
      const add = () =>
        identities.insert(
          { userid, provider: 'fake', subject: crypto.randomUUID(), email: undefined },
          new Date(now),
        )
      // The last way in stays.
      const [id] = [await add(), await add()]
      return send(on, token, 'DELETE', `/profile/identities/${id}`)
    },
  },
}

/** A state of the account: `before` the change begins, and what happens `since`. Each returns what the change goes on with. */
interface State {
  before: (user: TestUser) => Promise<Omit<Attempt, 'user'>>
  since?: (attempt: Attempt) => Promise<Partial<Attempt>>
  on?: () => TestApp
}

const withPassword = async (user: TestUser) => ({ token: await aToken(app, user), currentPassword: PASSWORD })

async function withoutPassword(user: TestUser) {
  const token = await aToken(app, user)
  await app.users.setPassword(user.userid, NO_PASSWORD)
  return { token, currentPassword: undefined }
}

async function withFactor(user: TestUser) {
  const { token, secret } = await enrolUser(app, user, now)
  return { token, secret, currentPassword: PASSWORD }
}

/** The tokens by which users have added their factors: they stay valid, and were won by the password only. */
const tokensOfBefore = new Map<TestUser, string>()

const STATES = {
  'no password': { before: withoutPassword },
  'no password, and an old login': {
    async before(user) {
      const attempt = await withoutPassword(user)
      setClocks(now + STALE_MS)
      return attempt
    },
  },
  'no factor': { before: withPassword },
  factor: { before: withFactor },
  'factor, shown long ago': {
    async before(user) {
      const attempt = await withFactor(user)
      setClocks(now + STALE_MS)
      return attempt
    },
  },
  'factor, and since then a token without it': {
    async before(user) {
      const old = await aToken(app, user)
      const { token, secret } = await enrol(app, old, now)
      tokensOfBefore.set(user, old)
      return { token, secret, currentPassword: PASSWORD }
    },
    since: async ({ user }) => ({ token: tokensOfBefore.get(user) ?? '' }),
  },
  'first factor added since, in another session': {
    before: withPassword,
    async since({ user, token }) {
      await addPasskey(await aToken(app, user))
      return { token }
    },
  },
  'first factor added since, by the same token': {
    before: withPassword,
    async since({ token }) {
      await addPasskey(token)
      return { token }
    },
  },
  'first factor added since, and shown': {
    before: withPassword,
    since: async ({ token }) => ({ token: await addPasskey(token) }),
  },
  'another factor added since, and shown': {
    before: withFactor,
    since: async ({ token }) => ({ token: await addPasskey(token) }),
  },
  'last factor removed since': {
    before: withFactor,
    async since(attempt) {
      expect((await ofFirstFactor(app, attempt, 'DELETE')).statusCode).toBe(204)
      return { secret: undefined }
    },
  },
  'password changed since': {
    before: withPassword,
    async since({ token }) {
      const change = { current_password: PASSWORD, password: NEW_PASSWORD }
      const changed = await send(app, token, 'PUT', '/profile/password', change)
      return { token: changed.json().token, currentPassword: NEW_PASSWORD }
    },
  },
  'password changed since, by another program': {
    before: withPassword,
    async since({ user }) {
      await app.users.setPassword(user.userid, await app.passwords.hash(NEW_PASSWORD))
      return { currentPassword: NEW_PASSWORD }
    },
  },
  'e-mail changed since': {
    before: withFactor,
    async since({ user, token }) {
      const email = `moved-${user.username}@example.com`
      await send(app, token, 'PUT', '/profile', { email, current_password: PASSWORD })
      const changed = await post(app, '/profile/confirmemail', { code: await codeTo(app, email) }, token)
      expect(changed.statusCode, changed.body).toBe(200)
      return { user: { ...user, email } }
    },
  },
  'token refreshed since': {
    before: withFactor,
    async since({ token }) {
      setClocks(now + 2_000)
      return { token: (await post(app, '/refreshtoken', {}, token)).json().token }
    },
  },
  'on another replica': { before: withFactor, on: () => replica },
} as const satisfies Record<string, State>

type StateName = keyof typeof STATES

/** The answers to a change in the states that are not `ok`. */
const NOT_OK: Record<Change, Partial<Record<StateName, string>>> = {
  addApp: ofTwoSteps('second-factor-refused'),
  addPasskey: ofTwoSteps('challenge-refused'),
  confirmNewEmail: {
    ...ofTwoSteps('email-change-refused'),
    'first factor added since, in another session': 'email-change-refused',
  },
  renewRecoveryCodes: {
    ...withoutAFactor(),
    'factor, shown long ago': 'insufficient-user-authentication',
    'factor, and since then a token without it': 'insufficient-user-authentication',
    'first factor added since, in another session': 'factor-not-found',
    'first factor added since, by the same token': 'factor-not-found',
    'first factor added since, and shown': 'factor-not-found',
    'another factor added since, and shown': 'challenge-refused',
    'e-mail changed since': 'challenge-refused',
    'last factor removed since': 'factor-not-found',
  },
  changePassword: ofOneStep(),
  deleteAccount: ofOneStep(),
  stepUp: {
    ...ofOneStep(),
    'factor, shown long ago': 'ok',
    'factor, and since then a token without it': 'ok',
    'first factor added since, by the same token': 'second-factor-refused',
    // This step-up is by the password.
    'first factor added since, and shown': 'second-factor-refused',
  },
  setEmail: { ...ofOneStep(), 'no password, and an old login': 'ok' },
  renameFactor: { ...ofOneStep(), ...withoutAFactor(), 'last factor removed since': 'factor-not-found' },
  removeFactor: { ...ofOneStep(), ...withoutAFactor(), 'last factor removed since': 'factor-not-found' },
  setUsername: ofOneStep(),
  addIdentity: ofOneStep(),
  removeIdentity: ofOneStep(),
}

function ofOneStep() {
  return {
    'no password, and an old login': 'insufficient-user-authentication',
    'factor, shown long ago': 'insufficient-user-authentication',
    'factor, and since then a token without it': 'insufficient-user-authentication',
    'first factor added since, in another session': 'invalid-token',
    'first factor added since, by the same token': 'insufficient-user-authentication',
  }
}

function ofTwoSteps(refused: string) {
  return {
    ...ofOneStep(),
    'first factor added since, by the same token': refused,
    'first factor added since, and shown': refused,
    'another factor added since, and shown': refused,
    'password changed since': refused,
    'password changed since, by another program': refused,
    'e-mail changed since': refused,
  }
}

function withoutAFactor() {
  return {
    'no password': 'factor-not-found',
    'no password, and an old login': 'factor-not-found',
    'no factor': 'factor-not-found',
    'password changed since': 'factor-not-found',
    'password changed since, by another program': 'factor-not-found',
  }
}

const changes = Object.keys(CHANGES) as Change[]
const states = Object.keys(STATES) as StateName[]

describe.each(changes)('the change %s', (change) => {
  it.each(states)('in the state: %s', async (name) => {
    const { begin, finish } = CHANGES[change]
    const { before, since, on = () => app }: State = STATES[name]
    const user = await aUser(app)
    const attempt: Attempt = { user, ...(await before(user)) }
    const begun = await begin?.(attempt)
    const going = begun && begun.statusCode >= 300 ? undefined : { ...attempt, ...(await since?.(attempt)) }
    const response = going ? await finish(on(), going, begun) : begun
    const expected = NOT_OK[change][name] ?? 'ok'
    expect(response && outcomeOf(response), response?.body).toBe(expected)
  })
})

it('has a row for every operation by which a user changes something', async () => {
  const { paths } = (await byUsername.server.inject('/openapi.json')).json()
  const operations = Object.values<Record<string, { operationId: string; security: object[] }>>(paths)
    .flatMap((path) => Object.entries(path))
    .filter(([method, { security }]) => method !== 'get' && security.length > 0)
    .map(([, { operationId }]) => operationId)
  const guarded = {
    changeUsername: 'setUsername',
    addIdentity: 'addIdentity',
    removeIdentity: 'removeIdentity',
    addTotp: 'addApp',
    confirmTotp: 'addApp',
    addPasskey: 'addPasskey',
    confirmPasskey: 'addPasskey',
    updateProfile: 'confirmNewEmail',
    confirmEmail: 'confirmNewEmail',
    renewRecoveryCodes: 'renewRecoveryCodes',
    confirmRecoveryCodes: 'renewRecoveryCodes',
    changePassword: 'changePassword',
    deleteAccount: 'deleteAccount',
    stepUp: 'stepUp',
    getPasskeyStepUpOptions: 'stepUp',
    stepUpByPasskey: 'stepUp',
    renameFactor: 'renameFactor',
    removeFactor: 'removeFactor',
  } satisfies Record<string, Change>
  // They end sessions, or go on with one.
  const unguarded = ['refreshToken', 'logout', 'endSession']
  expect(operations.toSorted()).toEqual([...Object.keys(guarded), ...unguarded].toSorted())
})

describe('a thief with the password', () => {
  /** The thief begins, and the owner adds the first factor in another session. */
  async function overtaken(begin: (token: string, user: TestUser) => Promise<Response>) {
    const user = await aUser(app)
    const stolen = await aToken(app, user)
    const begun = await begin(stolen, user)
    expect(begun.statusCode, begun.body).toBe(200)
    const owner = await addPasskey(await aToken(app, user))
    return { user, stolen, begun, owner }
  }

  it('gets no passkey that was begun before the owner’s app, and removes nothing', async () => {
    const user = await aUser(app)
    // 1. The thief logs in by the password, and begins.
    const stolen = await aToken(app, user)
    const options = await post(app, '/profile/factors/passkey', { current_password: PASSWORD }, stolen)
    // 2. The owner adds an app.
    const owner = await enrolUser(app, user, now)
    // 3. The thief confirms, with the token of 1.
    const device = aDevice()
    const credential = createPasskey(options, device)
    const confirmed = await post(app, '/profile/factors/passkey/confirm', { credential }, stolen)
    expect(confirmed.statusCode).toBe(401)
    // 4. The thief removes the owner's app.
    const { factors } = await listOf(owner.token)
    expect(factors).toMatchObject([{ kind: 'totp' }])
    expect((await send(app, stolen, 'DELETE', `/profile/factors/${factors[0].id}`)).statusCode).toBe(401)
    const login = await post(app, '/login/passkey/options', {})
    const signed = device.getJSON(ORIGIN, login.json().publicKey)
    expect(outcomeOf(await post(app, '/login/passkey', { credential: signed }))).toBe('passkey-refused')
  })

  it('gets no app that was begun before the owner’s passkey', async () => {
    const { begun, stolen, owner } = await overtaken((token) =>
      post(app, '/profile/factors/totp', { current_password: PASSWORD }, token),
    )
    const code = codeAt(begun.json().secret, now)
    const confirmed = await post(app, '/profile/factors/totp/confirm', { code }, stolen)
    expect(confirmed.statusCode).toBe(401)
    expect((await listOf(owner)).factors).toMatchObject([{ kind: 'passkey' }])
  })

  it('gets no e-mail whose change was begun before the owner’s passkey', async () => {
    const { user, stolen, owner } = await overtaken((token, { username }) =>
      send(app, token, 'PUT', '/profile', {
        email: `thief-of-${username}@example.com`,
        current_password: PASSWORD,
      }),
    )
    const code = await codeTo(app, `thief-of-${user.username}@example.com`)
    for (const token of [stolen, owner])
      expect((await post(app, '/profile/confirmemail', { code }, token)).statusCode).not.toBe(200)
    expect((await send(app, owner, 'GET', '/profile')).json()).toMatchObject({ email: user.email })
  })

  it('loses the session to the first factor, and the refreshes of it; the session that adds it goes on', async () => {
    const user = await aUser(app)
    const stolen = await aToken(app, user)
    setClocks(now + 2_000)
    const owner = await addApp(await aToken(app, user))
    expect((await send(app, stolen, 'GET', '/profile')).statusCode).toBe(401)
    expect((await post(app, '/refreshtoken', {}, stolen)).statusCode).toBe(401)
    const { sessions } = (await send(app, owner.token, 'GET', '/sessions')).json()
    expect(sessions).toMatchObject([{ current: true }])
  })

  it('confirms no enrolment after a reset of the password that was begun before it', async () => {
    const user = await aUser(app)
    const stolen = await aToken(app, user)
    const begun = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, stolen)
    const { email } = user
    await post(app, '/login/resetrequest', { email })
    const code = await codeTo(app, email, 'password-reset')
    const { token } = (await post(app, '/login/confirmcode', { email, code })).json()
    await post(app, '/login/resetpassword', { email, token, password: NEW_PASSWORD })
    const own = (await logIn(app, email, NEW_PASSWORD)).json().token
    const first = { code: codeAt(begun.json().secret, now) }
    expect((await post(app, '/profile/factors/totp/confirm', first, stolen)).statusCode).toBe(401)
    const confirmed = await post(app, '/profile/factors/totp/confirm', first, own)
    expect(outcomeOf(confirmed)).toBe('second-factor-refused')
  })

  it('begins no login that a factor ends which was added since', async () => {
    const user = await aUser(app)
    const { secret, token } = await enrolUser(app, user, now)
    const challenge = await challengeOf(app, user)
    await addPasskey(token)
    const code = codeAt(secret, setClocks(now + STEP_MS))
    expect(outcomeOf(await answer(app, challenge, code))).toBe('challenge-refused')
    expect(outcomeOf(await answer(app, await challengeOf(app, user), code))).toBe('ok')
  })
})

describe('a change that was begun before its row had a column for the guard', () => {
  it.each([
    { change: 'addApp', table: 'user_factor', refused: 'second-factor-refused' },
    { change: 'confirmNewEmail', table: 'email_change', refused: 'email-change-refused' },
  ] as const)('is begun again: $change', async ({ change, table, refused }) => {
    const { begin, finish } = CHANGES[change]
    const user = await aUser(app)
    const attempt = { user, ...(await withPassword(user)) }
    const begun = await begin?.(attempt)
    const { db } = app.database
    await db.execute(
      { name: `test-old-${table}`, text: `update ${table} set begun_under = null where userid = $1` },
      [db.toUuidValue(user.userid)],
    )
    expect(outcomeOf(await finish(app, attempt, begun))).toBe(refused)
  })
})

describe('a change whose password is verified', () => {
  const CHANGED =
    'The password, the e-mail or a second factor has changed since the request began; confirm the login by POST /login/stepup, and try again'

  it.each(['changePassword', 'deleteAccount', 'stepUp', 'addApp'] as const)(
    'is refused when another password is stored by then: %s',
    async (change) => {
      const user = await aUser(app)
      const token = await aToken(app, user)
      beforeTransaction = async () => {
        beforeTransaction = undefined
        await app.users.setPassword(user.userid, await app.passwords.hash(NEW_PASSWORD))
      }
      const { begin, finish } = CHANGES[change]
      const attempt = { user, token, currentPassword: PASSWORD }
      const response = await (begin ? begin(attempt) : finish(app, attempt, undefined))
      expect(outcomeOf(response), response.body).toBe('insufficient-user-authentication')
      expect(response.json().detail).toBe(CHANGED)
      expect((await logIn(app, user.email, NEW_PASSWORD)).statusCode).toBe(200)
    },
  )

  it('is refused when the e-mail is another one by then, and the new one needs the password', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    beforeTransaction = async () => {
      beforeTransaction = undefined
      await app.users.setEmail(user.userid, newEmailOf(user))
    }
    const response = await CHANGES.setEmail.finish(
      app,
      { user, token, currentPassword: undefined },
      undefined,
    )
    expect(outcomeOf(response)).toBe('insufficient-user-authentication')
    expect(response.json().detail).toBe(CHANGED)
  })

  it('is refused when a first factor guards the account by then', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    beforeTransaction = async () => {
      beforeTransaction = undefined
      await enrol(replica, token, now)
    }
    const response = await CHANGES.changePassword.finish(
      app,
      { user, token, currentPassword: PASSWORD },
      undefined,
    )
    expect(outcomeOf(response)).toBe('insufficient-user-authentication')
  })
})

describe('what a token says of its login', () => {
  const claimsOf = (response: Response) => decodeJwt(response.json().token)

  it('is without a factor once the last one is removed: after a step-up, a refresh and a new password', async () => {
    const user = await aUser(app)
    const { token } = await enrolUser(app, user, now)
    const [{ id }] = (await listOf(token)).factors
    expect((await send(app, token, 'DELETE', `/profile/factors/${id}`)).statusCode).toBe(204)
    setClocks(now + 60_000)
    const raised = await post(app, '/login/stepup', { current_password: PASSWORD }, token)
    expect(claimsOf(raised)).toMatchObject({ auth_time: now / 1000 })
    expect(claimsOf(raised)).not.toHaveProperty('amr')
    const refreshed = await post(app, '/refreshtoken', {}, token)
    expect(claimsOf(refreshed)).toMatchObject({ auth_time: START / 1000 })
    expect(claimsOf(refreshed)).not.toHaveProperty('amr')
    const change = { current_password: PASSWORD, password: NEW_PASSWORD }
    const changed = await send(app, raised.json().token, 'PUT', '/profile/password', change)
    expect(claimsOf(changed)).toMatchObject({ auth_time: now / 1000 })
    expect(claimsOf(changed)).not.toHaveProperty('amr')
  })

  it('is without a factor on every route once the last one is removed', async () => {
    const user = await aUser(app)
    const { token } = await enrolUser(app, user, now)
    const [{ id }] = (await listOf(token)).factors
    expect((await send(app, token, 'DELETE', `/profile/factors/${id}`)).statusCode).toBe(204)
    await app.users.setRole(user.userid, 'admin')
    const response = await send(replica, token, 'GET', '/profile')
    expect(outcomeOf(response), 'the role needs a factor').toBe('insufficient-user-authentication')
  })

  it('keeps the time of the factor when the password changes, however often', async () => {
    const user = await aUser(app)
    let { token } = await enrolUser(app, user, now)
    const passwords = [PASSWORD, NEW_PASSWORD, PASSWORD]
    for (const [index, password] of passwords.slice(1).entries()) {
      setClocks(now + 140_000)
      const change = { current_password: passwords[index], password }
      const changed = await send(app, token, 'PUT', '/profile/password', change)
      expect(claimsOf(changed)).toMatchObject({ auth_time: START / 1000, amr: ['pwd', 'otp', 'mfa'] })
      token = changed.json().token
    }
    setClocks(now + 140_000)
    const late = await send(app, token, 'PUT', '/profile', { email: user.email.toUpperCase() })
    expect(outcomeOf(late)).toBe('insufficient-user-authentication')
  })

  it('names the factor of a step-up only, and the login of a user without a password keeps its time', async () => {
    const user = await aUser(app)
    const { token, secret } = await enrolUser(app, user, now)
    const both = await addPasskey(token)
    expect(decodeJwt(both).amr).toEqual(['pwd', expect.stringMatching(/^[hs]wk$/), 'user', 'mfa'])
    const code = codeAt(secret, setClocks(now + STEP_MS))
    const raised = await post(app, '/login/stepup', { code }, both)
    expect(claimsOf(raised)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], auth_time: now / 1000 })

    const { token: login } = await withoutPassword(await aUser(app))
    const { auth_time } = decodeJwt(login)
    setClocks(now + 200_000)
    const again = await post(app, '/login/stepup', {}, login)
    expect(claimsOf(again)).toMatchObject({ auth_time })
    setClocks(now + 200_000)
    const late = await post(app, '/login/stepup', {}, again.json().token)
    expect(late.json()).toMatchObject({ status: 401, max_age: 300 })
  })

  it('is of the factor that was shown: neither an app’s code with the id of a passkey, nor another user’s passkey', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const { token, secret } = await enrolUser(app, user, now)
    const device = aDevice()
    const others = await addPasskey(await aToken(app, other), device)
    const [{ id }] = (await listOf(others)).factors
    const code = codeAt(secret, setClocks(now + STEP_MS))
    const raised = await post(app, '/login/stepup', { code, id, credential: { id } }, token)
    expect(claimsOf(raised).amr).toEqual(['pwd', 'otp', 'mfa'])
    const options = await post(app, '/login/stepup/passkey/options', {}, others)
    const credential = device.getJSON(ORIGIN, options.json().publicKey)
    const foreign = await post(app, '/login/stepup/passkey', { credential }, token)
    expect(outcomeOf(foreign)).toBe('challenge-refused')
    const mine = await post(app, '/login/stepup/passkey/options', {}, token)
    expect(outcomeOf(mine)).toBe('passkey-refused')
  })
})

it('refuses the password of a user without one like every wrong password', async () => {
  const user = await aUser(app, { passwordHash: NO_PASSWORD })
  for (const password of [PASSWORD, NO_PASSWORD, ''])
    expect([400, 401]).toContain((await logIn(app, user.email, password)).statusCode)
  expect(outcomeOf(await logIn(app, user.email, NO_PASSWORD))).toBe('invalid-credentials')
  expect(app.logLines.join()).not.toContain('stored hash cannot be verified')
})

it('keeps a name that a stolen token would change', async () => {
  const user = await aUser(app)
  const { token, secret } = await enrolUser(app, user, now)
  const rename = (by: string) =>
    ofFirstFactor(app, { user, token: by, secret, currentPassword: PASSWORD }, 'PUT', { name: 'Stolen' })
  expect(outcomeOf(await rename(token))).toBe('ok')
  expect((await post(replica, '/logout', { everywhere: true }, token)).statusCode).toBe(204)
  // `app` still remembers the token as valid.
  expect(outcomeOf(await rename(token))).toBe('invalid-token')
})
