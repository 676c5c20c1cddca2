import { randomBytes } from 'node:crypto'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { LANGUAGE_PROPERTY } from '@latchkey/shared/users/user.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { isCluster } from '@latchkey/test-support/engine.ts'
import { serviceUrl } from '@latchkey/test-support/test-database.ts'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { answer, challengeOf, codeAt, enrol, enrolUser, post } from './support/factors.ts'
import { aDevice, ORIGIN, passkeySettings } from './support/passkeys.ts'
import { aToken, bearer, codeTo, logIn, queuedMails, startApp, type TestApp } from './support/start-app.ts'

const STEP_MS = 30_000
const START = Math.ceil(Date.now() / STEP_MS) * STEP_MS
const NEW_PASSWORD = 'N3w-p4ssw0rd!'

/** Two replicas on one database, with a pool each. */
let app: TestApp
let replica: TestApp
beforeAll(async () => {
  const settings = passkeySettings({
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    EMAIL_CHANGE: 'confirmed',
    ACCOUNT_DELETION: 'on',
    SIGN_UP: 'on',
    LOGIN_BY_MAIL: 'on',
    REFRESH_WINDOW: '3599',
  })
  app = await startApp({ settings })
  replica = await startApp({ settings, database: app.database })
})
beforeEach(() => void atStep(0))
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

/** Sets both clocks to the begin of a step, so that a test knows which codes are valid. */
function atStep(steps: number): number {
  const now = START + steps * STEP_MS
  for (const each of [app, replica]) each.setClock(now)
  return now
}

type Response = Awaited<ReturnType<typeof post>>

/** Sends as many requests at the same time, to both replicas. */
const atOnce = (count: number, send: (on: TestApp, index: number) => Promise<Response>) =>
  Promise.all(Array.from({ length: count }, (_, index) => send(index % 2 ? replica : app, index)))

const statusesOf = (answers: readonly Response[]) =>
  answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)

/** Expects one of the answers to be 200, or another success. */
function expectOne(answers: readonly Response[], refusal = 422, success = 200): Response {
  expect(statusesOf(answers)).toEqual([success, ...Array(answers.length - 1).fill(refusal)])
  return answers.find(({ statusCode }) => statusCode === success) as Response
}

const put = (on: TestApp, url: string, payload: object, token: string) =>
  on.server.inject({ method: 'PUT', url, payload, headers: bearer(token) })
const remove = (on: TestApp, url: string, token: string) =>
  on.server.inject({ method: 'DELETE', url, headers: bearer(token) })
const read = async (url: string, token: string, on = app) =>
  (await on.server.inject({ url, headers: bearer(token) })).json()
const ping = async (token: string, on = app) =>
  (await on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

describe('a code that is mailed', () => {
  async function aReset() {
    const { email } = await aUser(app)
    const { token } = (await post(app, '/login/resetrequest', { email })).json()
    return { email, token, code: await codeTo(app, email, 'password-reset') }
  }
  async function aConfirmedReset() {
    const reset = await aReset()
    return { ...reset, token: (await post(app, '/login/confirmcode', reset)).json().token }
  }

  it('can be guessed five times, also by forty guesses at once', async () => {
    const { email, token, code } = await aReset()
    const guesses = Array.from({ length: 41 }, (_, index) => String(index).padStart(6, '0'))
      .filter((guess) => guess !== code)
      .slice(0, 40)
    const guess = (on: TestApp, index: number) =>
      post(on, '/login/confirmcode', { email, token, code: guesses[index] })
    expect(statusesOf(await atOnce(40, guess))).toEqual(Array(40).fill(422))
    expect((await post(app, '/login/confirmcode', { email, token, code })).statusCode, 'the right one').toBe(
      422,
    )
    const [row] = await app.database.db.query<{ attempts: number }>(
      { name: 'test-attempts', text: 'select attempts from password_reset where email = $1' },
      [email],
    )
    expect(row?.attempts).toBe(5)
  })

  it('of a login can be guessed five times, and logs in once', async () => {
    const { email } = await aUser(app)
    const request = async () => {
      const { token } = (await post(app, '/login/code', { email })).json()
      return { email, token, code: await codeTo(app, email, 'login-code') }
    }
    const guessed = await request()
    const confirm = (on: TestApp, given: object) => post(on, '/login/code/confirm', given)
    const guesses = Array.from({ length: 41 }, (_, index) => String(index).padStart(6, '0'))
      .filter((guess) => guess !== guessed.code)
      .slice(0, 40)
    const guess = (on: TestApp, index: number) => confirm(on, { ...guessed, code: guesses[index] })
    expect(statusesOf(await atOnce(40, guess))).toEqual(Array(40).fill(422))
    expect((await confirm(app, guessed)).statusCode, 'the right one').toBe(422)
    const given = await request()
    expectOne(await atOnce(8, (on) => confirm(on, given)))
  })

  it('confirms a reset once, and a confirmed reset changes the password once', async () => {
    const reset = await aReset()
    const { token } = expectOne(await atOnce(8, (on) => post(on, '/login/confirmcode', reset))).json()
    const { email } = reset
    const passwords = Array.from({ length: 8 }, (_, index) => `N3w-p4ssw0rd!${'kqwzxvjb'[index]}`)
    const answers = await atOnce(8, (on, index) =>
      post(on, '/login/resetpassword', { email, token, password: passwords[index] }),
    )
    const winner = answers.indexOf(expectOne(answers))
    for (const [index, password] of passwords.entries())
      expect((await logIn(app, email, password)).statusCode).toBe(index === winner ? 200 : 401)
  })

  it('of a reset costs a bounded number of hashes, whatever ends in between', async () => {
    const { email, token } = await aConfirmedReset()
    const hash = vi.spyOn(app.passwords, 'hash').mockRejectedValue(new Error('the hash was lost'))
    const payload = { email, token, password: NEW_PASSWORD }
    const all = Array.from({ length: 30 }, () => post(app, '/login/resetpassword', payload))
    const refused = (await Promise.all(all)).filter(({ statusCode }) => statusCode === 422)
    const { length } = hash.mock.calls
    hash.mockRestore()
    expect(length).toBeGreaterThan(0)
    expect(length).toBeLessThanOrEqual(10)
    expect(refused).toHaveLength(30 - length)
    expect((await post(app, '/login/resetpassword', payload)).statusCode).toBe(422)
  })

  it('leaves no token to the logins with the old password that race the change', async () => {
    const { email, token } = await aConfirmedReset()
    const payload = { email, token, password: NEW_PASSWORD }
    const [changed, ...racing] = await atOnce(13, (on, index) =>
      index === 0 ? post(on, '/login/resetpassword', payload) : logIn(on, email),
    )
    expect(changed?.statusCode).toBe(200)
    for (const each of racing.filter(({ statusCode }) => statusCode === 200))
      expect(await ping(each.json().token)).toBe(401)
    expect((await logIn(app, email)).statusCode, 'no hash was put back').toBe(401)
  })

  it('confirms a sign-up once', async () => {
    const username = randomBytes(4).toString('hex')
    const email = `${username}@example.com`
    const { token } = (await post(app, '/signup', { email, username, password: NEW_PASSWORD })).json()
    await app.database.db.execute({ name: 'test-attempts-left', text: 'update sign_up set attempts = -10' })
    const code = await codeTo(app, email)
    expectOne(await atOnce(8, (on) => post(on, '/signup/confirm', { email, token, code })))
  })

  const change = (token: string, email: string, on = app) =>
    put(on, '/profile', { email, current_password: PASSWORD }, token)
  const confirm = (on: TestApp, token: string, code: string) =>
    post(on, '/profile/confirmemail', { code }, token)

  it('changes an e-mail once', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const email = `moved-${user.email}`
    await change(token, email)
    const code = await codeTo(app, email)
    expectOne(await atOnce(8, (on) => confirm(on, token, code)))
    expect((await app.users.findById(user.userid))?.email).toBe(email)
    const notices = async () =>
      [app, replica].flatMap(({ queued }) => [...queued.values()]).filter(({ to }) => to === user.email)
    await expect.poll(notices).toHaveLength(1)
  })

  it('is one of several that a user requests at once', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const answers = await atOnce(5, (on, index) => change(token, `${index}-${user.email}`, on))
    expect(statusesOf(answers)).toEqual(Array(5).fill(200))
    const text = 'select email from email_change where userid = $1 and used_at is null'
    const id = app.database.db.toUuidValue(user.userid)
    const open = await app.database.db.query<{ email: string }>({ name: 'test-open-changes', text }, [id])
    expect(open).toHaveLength(1)
    const { email = '' } = open[0] ?? {}
    const on = [app, replica].find(({ queued }) => [...queued.values()].some(({ to }) => to === email)) ?? app
    expect((await confirm(app, token, await codeTo(on, email))).statusCode).toBe(200)
  })

  it('gives an address to one of two users who confirm it', async () => {
    const users = [await aUser(app), await aUser(app)]
    const tokens = await Promise.all(users.map((user) => aToken(app, user)))
    const email = `wanted-${users[0]?.email}`
    for (const token of tokens) expect((await change(token, email)).statusCode).toBe(200)
    const mails = async () => (await queuedMails(app)).filter(({ to }) => to === email)
    await expect.poll(mails).toHaveLength(2)
    const codes = (await mails()).map(({ variables }) => variables.code ?? '')
    const answers = await atOnce(4, (on, index) =>
      confirm(on, tokens[index >> 1] ?? '', codes[index % 2] ?? ''),
    )
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1)
    for (const { statusCode } of answers) expect([200, 409, 422]).toContain(statusCode)
  })
})

describe('an account', () => {
  it('gets a free e-mail, and of ten that want the same one gets it', async () => {
    await using immediate = await startApp({ database: app.database })
    const tokens = await Promise.all(
      Array.from({ length: 10 }, async () => aToken(immediate, await aUser(immediate))),
    )
    const wanted = { email: `${randomBytes(4).toString('hex')}@example.com` }
    expectOne(await Promise.all(tokens.map((token) => put(immediate, '/profile', wanted, token))), 409)
  })

  it('takes nearly all of forty changes at once, which leave one row of a property', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const answers = await atOnce(40, (on, index) =>
      put(on, '/profile', { name: `Ada ${index}`, language: index % 3 ? 'pt' : 'en' }, token),
    )
    const statuses = statusesOf(answers)
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(36)
    const { properties = [] } = (await app.users.findById(user.userid)) ?? {}
    expect(properties.filter(({ name }) => name === LANGUAGE_PROPERTY)).toHaveLength(1)
  })

  it('takes changes in turn that lock it, or store its name, also on two nodes of a cluster', async () => {
    const elsewhere = await openDatabase(serviceUrl(app.database, 'auth-api'), { poolSize: 1 })
    const locks = [
      (users: UserRepository, userid: string) => users.lock(userid),
      (users: UserRepository, userid: string) => users.setName(userid, 'Ada'),
    ]
    for (const lock of locks) {
      const { userid } = await aUser(app, { name: 'Ada' })
      const [both, arrived] = [Promise.withResolvers<void>(), new Set<Database>()]
      const arrive = (db: Database) => void (arrived.add(db).size === 2 && both.resolve())
      const count = (db: Database) =>
        db.transaction(async (transaction) => {
          const users = createUserRepository(transaction)
          // On one server the second change waits for the lock. On two nodes both have it, and write by what both have read.
          if (!isCluster()) arrive(db)
          await lock(users, userid)
          const { properties = [] } = (await users.findById(userid)) ?? {}
          await users.setProperty(userid, 'count', String(Number(properties[0]?.value ?? 0) + 1))
          arrive(db)
          await both.promise
        })
      await Promise.all([app.database.db, elsewhere].map(count))
      expect((await app.users.findById(userid))?.properties).toEqual([{ name: 'count', value: '2' }])
    }
    await elsewhere.close()
  })

  it('gets one of eight new passwords', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const passwords = Array.from({ length: 8 }, (_, index) => `N3w-p4ssw0rd!${'kqwzxvjb'[index]}`)
    // All have passed the first check of their token before the first one changes the password.
    const { verify } = app.passwords
    const all = Promise.withResolvers<void>()
    const verified = vi.spyOn(app.passwords, 'verify').mockImplementation(async (...given) => {
      if (verified.mock.calls.length === passwords.length) all.resolve()
      await all.promise
      return verify(...given)
    })
    const change = (password: string) =>
      put(app, '/profile/password', { current_password: PASSWORD, password }, token)
    const answers = await Promise.all(passwords.map(change))
    verified.mockRestore()
    const statuses = answers.map(({ statusCode }) => statusCode)
    expect(statuses.toSorted()[0]).toBe(200)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    for (const status of statuses) expect([200, 401, 422]).toContain(status)
    const winner = statuses.indexOf(200)
    for (const [index, password] of passwords.entries())
      expect((await logIn(app, user.email, password)).statusCode).toBe(index === winner ? 200 : 401)
    expect(await ping(answers[winner]?.json().token)).toBe(200)
  })

  it('is deleted once', async () => {
    const token = await aToken(app, await aUser(app))
    const answers = await atOnce(8, (on) =>
      post(on, '/profile/delete', { current_password: PASSWORD }, token),
    )
    expectOne(answers, 401, 204)
  })
})

describe('a second factor', () => {
  it('logs in by a code once, also where forty clients send it', async () => {
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, atStep(0))
    const challenges = await Promise.all(Array.from({ length: 40 }, () => challengeOf(app, user)))
    const code = codeAt(secret, atStep(1))
    expectOne(await atOnce(40, (on, index) => answer(on, challenges[index] ?? '', code)))
  })

  it('logs in by a challenge once, also where two right codes answer it', async () => {
    const user = await aUser(app)
    const { secret, recoveryCodes } = await enrolUser(app, user, atStep(0))
    const challenge = await challengeOf(app, user)
    const codes = [codeAt(secret, atStep(1)), ...recoveryCodes.slice(0, 3)]
    const won = expectOne(await atOnce(4, (on, index) => answer(on, challenge, codes[index] ?? '')))
    const left = (await read('/profile/factors', won.json().token)).recovery_codes
    expect([9, 10], 'only the code of the winner is used').toContain(left)
  })

  it('logs in by a recovery code once', async () => {
    const user = await aUser(app)
    const { recoveryCodes } = await enrolUser(app, user, atStep(0))
    const challenges = await Promise.all(Array.from({ length: 8 }, () => challengeOf(app, user)))
    const won = expectOne(
      await atOnce(8, (on, index) => answer(on, challenges[index] ?? '', recoveryCodes[0] ?? '')),
    )
    expect(await read('/profile/factors', won.json().token)).toMatchObject({ recovery_codes: 9 })
  })

  it('gets new recovery codes once by each renewal', async () => {
    const { token } = await enrolUser(app, await aUser(app), atStep(0))
    const { challenge } = (await post(app, '/profile/factors/recoverycodes', {}, token)).json()
    const confirm = (on: TestApp) => post(on, '/profile/factors/recoverycodes/confirm', { challenge }, token)
    expectOne(await atOnce(3, confirm), 422, 204)
    expect(await read('/profile/factors', token)).toMatchObject({ recovery_codes: 10 })
  })

  it('is added once by its first code, and has the last secret', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const begun = await atOnce(4, (on) =>
      post(on, '/profile/factors/totp', { current_password: PASSWORD }, token),
    )
    expect(statusesOf(begun)).toEqual([200, 200, 200, 200])
    expect(await createFactorRepository(app.database.db).find(user.userid)).toHaveLength(1)
    const now = atStep(0)
    const codes = begun.map((each) => codeAt(each.json().secret, now))
    const answers = await atOnce(8, (on, index) =>
      post(on, '/profile/factors/totp/confirm', { code: codes[index >> 1] }, token),
    )
    expect(expectOne(answers).json().recovery_codes).toHaveLength(10)
  })

  it('raises a token once by a code, and is removed once', async () => {
    const user = await aUser(app)
    const old = await aToken(app, user)
    const { secret } = await enrol(app, old, atStep(0))
    const code = codeAt(secret, atStep(1))
    const raised = expectOne(await atOnce(8, (on) => post(on, '/login/stepup', { code }, old))).json().token
    const [{ id }] = (await read('/profile/factors', raised)).factors
    expectOne(await atOnce(4, (on) => remove(on, `/profile/factors/${id}`, raised)), 404, 204)
  })
})

describe('a passkey', () => {
  const optionsOf = async (url: string, payload: object, token?: string) =>
    (await post(app, url, payload, token)).json().publicKey
  const begin = async (token: string, device = aDevice()) =>
    device.createJSON(
      ORIGIN,
      await optionsOf('/profile/factors/passkey', { current_password: PASSWORD }, token),
    )
  const confirm = (on: TestApp, token: string, credential: unknown) =>
    post(on, '/profile/factors/passkey/confirm', { credential }, token)

  it('is added once, and logs in once by what it has signed', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const device = aDevice({ signCounterIncrement: 0 })
    const credential = await begin(token, device)
    expectOne(await atOnce(2, (on) => confirm(on, token, credential)))
    const challenge = await challengeOf(app, user)
    const signed = device.getJSON(ORIGIN, await optionsOf('/login/passkey/options', { challenge }))
    expectOne(await atOnce(4, (on) => post(on, '/login/passkey', { credential: signed })))
  })

  it('is one of two that were begun at once, of one session', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const begun = [await begin(token), await begin(token)]
    const added = expectOne(await atOnce(2, (on, index) => confirm(on, token, begun[index])))
    expect(added.json().recovery_codes).toHaveLength(10)
  })

  it('is one of two that the owner and a thief add at once, as the first one', async () => {
    const user = await aUser(app)
    const tokens = await Promise.all([aToken(app, user), aToken(app, user)])
    const begun = [await begin(tokens[0] ?? ''), await begin(tokens[1] ?? '')]
    const won = expectOne(
      await atOnce(2, (on, index) => confirm(on, tokens[index] ?? '', begun[index])),
      401,
    ).json()
    expect(await read('/profile/factors', won.token)).toMatchObject({
      ...{ factors: [{ kind: 'passkey' }], recovery_codes: 10 },
    })
    expect((await answer(app, await challengeOf(app, user), won.recovery_codes[0])).statusCode).toBe(200)
  })
})

describe('a token', () => {
  it('has one successor, however often and wherever it is refreshed', async () => {
    const token = await aToken(app, await aUser(app))
    atStep(1)
    const answers = await atOnce(40, (on) => post(on, '/refreshtoken', {}, token))
    expect(statusesOf(answers)).toEqual(Array(40).fill(200))
    const successors = answers.map((each) => each.json().token)
    expect(new Set(successors.map((each) => decodeJwt(each).jti)).size).toBe(1)
    for (const on of [app, replica]) expect(await ping(successors[0], on)).toBe(200)
    const { sessions } = await read('/sessions', successors[1])
    expect(sessions).toHaveLength(1)
  })

  it('is refreshed or refused, and then ended, by a log-out at the same time', async () => {
    const token = await aToken(app, await aUser(app))
    atStep(1)
    const [logOut, ...answers] = await atOnce(21, (on, index) =>
      post(on, index === 0 ? '/logout' : '/refreshtoken', {}, token),
    )
    expect(logOut?.statusCode).toBe(204)
    for (const each of answers) {
      expect([200, 401], each.body).toContain(each.statusCode)
      if (each.statusCode === 200) expect(await ping(each.json().token)).toBe(401)
    }
    expect((await post(app, '/refreshtoken', {}, token)).statusCode).toBe(401)
  })

  it('logs out, and ends another session, also by eight requests', async () => {
    const user = await aUser(app)
    const [own, lost] = [await aToken(app, user), await aToken(app, user)]
    const { sessions } = await read('/sessions', own)
    const { id } = sessions.find(({ current }: { current: boolean }) => !current)
    const ends = statusesOf(await atOnce(8, (on) => remove(on, `/sessions/${id}`, own)))
    const logOuts = statusesOf(await atOnce(8, (on) => post(on, '/logout', {}, own)))
    expect([ends[0], logOuts[0]]).toEqual([204, 204])
    for (const status of ends) expect([204, 404]).toContain(status)
    for (const status of logOuts) expect([204, 401]).toContain(status)
    for (const token of [own, lost]) expect(await ping(token)).toBe(401)
  })

  it('has a session of its own by each of twelve logins', async () => {
    const user = await aUser(app)
    const answers = await atOnce(12, (on) => logIn(on, user.email))
    expect((await read('/sessions', answers[0]?.json().token)).sessions).toHaveLength(12)
  })
})
