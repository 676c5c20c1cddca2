import { randomBytes } from 'node:crypto'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { decodeJwt, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answer, challengeOf, codeAt, enrol, enrolUser, factorSettings, post } from './support/factors.ts'
import { recording } from './support/recording-database.ts'
import {
  aToken,
  bearer,
  codeTo,
  logIn,
  mailTo,
  queuedMails,
  startApp,
  type TestApp,
} from './support/start-app.ts'

const STEP_MS = 30_000
const START = Math.ceil(Date.now() / STEP_MS) * STEP_MS
const NEW_PASSWORD = 'N3w-p4ssw0rd!'
const FACTOR_KEY = randomBytes(32).toString('base64')
const typeOf = (name: string) => `urn:latchkey:problem:${name}`

let app: TestApp
beforeAll(async () => {
  app = await startApp({
    settings: factorSettings({
      FACTOR_SECRET: FACTOR_KEY,
      SECOND_FACTOR_ROLES: 'admin',
      REFRESH_WINDOW: '3599',
      NOTICE_NEW_CLIENT: 'on',
    }),
  })
})
beforeEach(() => void atStep(0))
afterAll(() => app[Symbol.asyncDispose]())

/** Sets the clock to the begin of a step, so that a test knows which codes are valid. */
function atStep(steps: number): number {
  const now = START + steps * STEP_MS
  app.setClock(now)
  return now
}
const ping = async (token: string) =>
  (await app.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode
const remove = (token: string, id: string) =>
  app.server.inject({ method: 'DELETE', url: `/profile/factors/${id}`, headers: bearer(token) })
const listOf = async (token: string) =>
  (await app.server.inject({ url: '/profile/factors', headers: bearer(token) })).json()

describe('a login in two steps', () => {
  it('is answered with a challenge, and the challenge and a code with a token that says how it was won', async () => {
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, atStep(0))
    const refusal = await logIn(app, user.email)
    expect(refusal.statusCode).toBe(403)
    expect(refusal.json()).toMatchObject({
      type: typeOf('second-factor-required'),
      factors: ['totp'],
      challenge: expect.any(String),
    })
    const won = await answer(app, refusal.json().challenge, codeAt(secret, atStep(1)))
    expect(won.statusCode, won.body).toBe(200)
    expect(Object.keys(won.json()).toSorted()).toEqual(['data', 'token'])
    expect(decodeJwt(won.json().token)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
    expect(await ping(won.json().token)).toBe(200)
    atStep(2)
    const refreshed = await post(app, '/refreshtoken', {}, won.json().token)
    const { amr, auth_time, sid } = decodeJwt(won.json().token)
    expect(decodeJwt(refreshed.json().token)).toMatchObject({ amr, auth_time, sid })
  })

  it('shows only after the right password that an account has a factor', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    await enrolUser(app, user, atStep(0))
    const refusals = await Promise.all([user, other].map(({ email }) => logIn(app, email, 'wrong')))
    const [first, second] = refusals.map((refusal) => ({ ...refusal.json(), instance: '' }))
    expect(first).toEqual(second)
    expect(first.status).toBe(401)
    const without = (await logIn(app, other.email)).json()
    expect(Object.keys(without)).toEqual(['token', 'data'])
    expect(decodeJwt(without.token)).not.toHaveProperty('amr')
  })

  it('refuses the code of another account, and each of a closed enrolment', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    await enrolUser(app, user, atStep(0))
    const others = await enrolUser(app, other, atStep(0))
    const begun = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, others.token)
    const challenge = await challengeOf(app, user)
    const now = atStep(1)
    for (const code of [codeAt(others.secret, now), others.recoveryCodes[0] ?? ''])
      expect((await answer(app, challenge, code)).statusCode).toBe(422)
    const pending = await answer(app, await challengeOf(app, other), codeAt(begun.json().secret, now))
    expect(pending.statusCode, 'a secret that is not confirmed').toBe(422)
  })

  it('accepts a clock that differs by one step, and says what to do where it differs by two', async () => {
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, atStep(0))
    for (const { steps, offset, status } of [
      { steps: 4, offset: 2, status: 422 },
      { steps: 4, offset: -2, status: 422 },
      { steps: 4, offset: -1, status: 200 },
      { steps: 6, offset: 1, status: 200 },
      { steps: 7, offset: 0, status: 422 },
    ]) {
      const now = atStep(steps)
      const response = await answer(app, await challengeOf(app, user), codeAt(secret, now + offset * STEP_MS))
      expect(response.statusCode, `${offset} steps at ${steps}`).toBe(status)
      if (status === 422) expect(response.json().detail).toContain('clock')
    }
  })

  it('refuses a challenge after five minutes, after five wrong codes, and after a new password', async () => {
    const user = await aUser(app)
    const { secret, token } = await enrolUser(app, user, atStep(0))
    const late = await challengeOf(app, user)
    const now = atStep(11)
    expect((await answer(app, late, codeAt(secret, now))).json().type).toBe(typeOf('challenge-refused'))

    const guessed = await challengeOf(app, user)
    for (let guess = 0; guess < 5; guess++)
      expect((await answer(app, guessed, '000000')).json().type).toBe(typeOf('second-factor-refused'))
    const right = codeAt(secret, now)
    expect((await answer(app, guessed, right)).json().type).toBe(typeOf('challenge-refused'))

    const before = await challengeOf(app, user)
    const { token: raised } = (await post(app, '/login/stepup', { code: right }, token)).json()
    const changed = await app.server.inject({
      method: 'PUT',
      url: '/profile/password',
      headers: bearer(raised),
      payload: { current_password: PASSWORD, password: NEW_PASSWORD },
    })
    expect(changed.statusCode, changed.body).toBe(200)
    expect(decodeJwt(changed.json().token).amr).toContain('mfa')
    expect((await answer(app, before, codeAt(secret, atStep(12)))).json().type).toBe(
      typeOf('challenge-refused'),
    )
  })

  it('takes no other text for a challenge, and a challenge for no token', async () => {
    const user = await aUser(app)
    const { secret, token } = await enrolUser(app, user, atStep(0))
    const challenge = await challengeOf(app, user)
    const [, payload = ''] = challenge.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const header = { alg: 'HS256', typ: 'latchkey-challenge+jwt' }
    const sign = (changes: object, by: Uint8Array, headers = header) =>
      new SignJWT({ ...claims, ...changes }).setProtectedHeader(headers).sign(by)
    const { secret: jwtSecret } = app.config.tokens
    const { secret: factorSecret = new Uint8Array() } = app.config.secondFactor
    const none = `${Buffer.from('{"alg":"none","typ":"latchkey-challenge+jwt"}').toString('base64url')}.${payload}.`
    const code = codeAt(secret, atStep(1))
    for (const forged of [
      token,
      none,
      `${challenge}x`,
      'a.b.c',
      await sign({}, jwtSecret),
      await sign({}, factorSecret),
      await sign({}, jwtSecret, { alg: 'HS512', typ: 'JWT' }),
    ])
      expect((await answer(app, forged, code)).json()).toMatchObject({ type: typeOf('challenge-refused') })
    expect(await ping(challenge)).toBe(401)
    const stepUp = await post(app, '/login/stepup', { code }, challenge)
    expect(stepUp.statusCode, 'a challenge as a token').toBe(401)
    expect((await answer(app, challenge, code)).statusCode, 'still usable').toBe(200)
  })

  it('is mailed to the user where it comes from a new client', async () => {
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, atStep(0))
    const payload = { challenge: await challengeOf(app, user), code: codeAt(secret, atStep(1)) }
    const headers = { 'user-agent': 'Another browser' }
    await app.server.inject({ method: 'POST', url: '/login/secondfactor', payload, headers })
    expect((await mailTo(app, user.email, 'new-client')).variables).toMatchObject({ address: '127.0.*.*' })
  })

  it('is not skipped by a reset of the password, which removes no factor', async () => {
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, atStep(0))
    const { email } = user
    await post(app, '/login/resetrequest', { email })
    const code = await codeTo(app, email, 'password-reset')
    const { token } = (await post(app, '/login/confirmcode', { email, code })).json()
    const reset = { email, token, password: NEW_PASSWORD }
    expect((await post(app, '/login/resetpassword', reset)).statusCode).toBe(200)
    const refusal = await logIn(app, email, NEW_PASSWORD)
    expect(refusal.statusCode).toBe(403)
    const won = await answer(app, refusal.json().challenge, codeAt(secret, atStep(1)))
    expect(won.statusCode).toBe(200)
  })

  it('is refused to a deleted user', async () => {
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, atStep(0))
    const challenge = await challengeOf(app, user)
    await app.users.softDelete(user.userid)
    expect((await answer(app, challenge, codeAt(secret, atStep(1)))).json().type).toBe(
      typeOf('challenge-refused'),
    )
  })
})

describe('recovery codes', () => {
  it('log in once each, however they are typed, with a mail and an event', async () => {
    const user = await aUser(app)
    const { recoveryCodes } = await enrolUser(app, user, atStep(0))
    expect(new Set(recoveryCodes).size).toBe(10)
    const [code = ''] = recoveryCodes
    const typed = ` ${code.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')} `
    const challenges = await Promise.all(Array.from({ length: 8 }, () => challengeOf(app, user)))
    const answers = await Promise.all(challenges.map((challenge) => answer(app, challenge, typed)))
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, ...Array(7).fill(422)])
    expect(answers.find(({ statusCode }) => statusCode === 422)?.json().detail).toBe(
      'The recovery code is wrong or was used already; send another one',
    )
    const mail = await mailTo(app, user.email, 'recovery-code-used')
    expect(mail.variables).toMatchObject({ left: '9', address: '127.0.*.*' })
    const { token } = answers.find(({ statusCode }) => statusCode === 200)?.json() ?? {}
    expect(await listOf(token)).toMatchObject({ recovery_codes: 9, factors: [{ kind: 'totp' }] })
    const events = await createAuditRepository(app.database.db).findNewest(user.userid, 20)
    expect(events.map(({ name }) => name)).toContain('recovery_code.used')
    expect(events).toContainEqual(expect.objectContaining({ name: 'factor.added', reason: 'totp' }))
  })

  it('are stored so that neither the row nor a copy in the row of another user shows or makes a code', async () => {
    const [user, thief] = [await aUser(app), await aUser(app)]
    const { secret, recoveryCodes } = await enrolUser(app, user, atStep(0))
    await enrolUser(app, thief, atStep(0))
    const { db } = app.database
    const rows = await db.query({
      name: 'test-factors',
      text: 'select data as kept from user_factor union all select hash as kept from recovery_code',
    })
    const stored = JSON.stringify(rows)
    for (const shown of [secret, ...recoveryCodes.flatMap((code) => [code, code.replaceAll('-', '')])])
      expect(stored).not.toContain(shown)
    await db.execute({ name: 'test-move', text: 'update recovery_code set userid = $1 where userid = $2' }, [
      db.toUuidValue(thief.userid),
      db.toUuidValue(user.userid),
    ])
    const moved = await answer(app, await challengeOf(app, thief), recoveryCodes[0] ?? '')
    expect(moved.statusCode).toBe(422)
    expect(app.logLines.join()).toContain('for another user')
  })

  it('are replaced by new ones', async () => {
    const user = await aUser(app)
    const { token, recoveryCodes } = await enrolUser(app, user, atStep(0))
    const created = (await post(app, '/profile/factors/recoverycodes', {}, token)).json()
    const renewed = created.recovery_codes
    expect(renewed).toHaveLength(10)
    const statusOf = async (code: string) =>
      (await answer(app, await challengeOf(app, user), code)).statusCode
    expect(await statusOf(renewed[0]), 'not confirmed').toBe(422)
    expect(await statusOf(recoveryCodes[0] ?? '')).toBe(200)
    const noticed = async () =>
      (await queuedMails(app)).filter(
        ({ to, template }) => to === user.email && template === 'recovery-codes-renewed',
      )
    const confirmed = () =>
      post(app, '/profile/factors/recoverycodes/confirm', { challenge: created.challenge }, token)
    atStep(29)
    expect(await noticed(), 'before they are confirmed').toEqual([])
    const statuses = (await Promise.all([confirmed(), confirmed(), confirmed()])).map(
      (each) => each.statusCode,
    )
    expect(statuses.toSorted()).toEqual([204, 422, 422])
    expect(await statusOf(recoveryCodes[1] ?? '')).toBe(422)
    expect(await statusOf(renewed[0])).toBe(200)
    expect((await listOf(token)).recovery_codes).toBe(9)
    await expect
      .poll(noticed)
      .toEqual([expect.objectContaining({ variables: expect.objectContaining({ address: '127.0.*.*' }) })])
  })

  it('are confirmed within a quarter of an hour, by the challenge that came with them', async () => {
    const user = await aUser(app)
    const { token } = await enrolUser(app, user, atStep(0))
    const others = await enrolUser(app, await aUser(app), atStep(0))
    const create = async (by: string) =>
      (await post(app, '/profile/factors/recoverycodes', {}, by)).json().challenge
    const challenge = await create(token)
    const confirm = async (text: string, by = token) =>
      (await post(app, '/profile/factors/recoverycodes/confirm', { challenge: text }, by)).json()
    const isRefused = { type: typeOf('challenge-refused'), status: 422 }
    expect(await confirm(await create(others.token))).toMatchObject(isRefused)
    expect(await confirm(challenge, others.token)).toMatchObject(isRefused)
    expect(await confirm(await challengeOf(app, user))).toMatchObject(isRefused)
    expect(await confirm('')).toMatchObject({ status: 400 })
    atStep(30)
    expect(await confirm(challenge)).toMatchObject(isRefused)
  })

  it('are not replaced by a renewal that was begun before they were', async () => {
    const user = await aUser(app)
    const { token } = await enrolUser(app, user, atStep(0))
    const begin = async () => (await post(app, '/profile/factors/recoverycodes', {}, token)).json()
    const confirm = async (challenge: string) =>
      (await post(app, '/profile/factors/recoverycodes/confirm', { challenge }, token)).statusCode
    const [earlier, later] = [await begin(), await begin()]
    expect(await confirm(later.challenge)).toBe(204)
    expect(await confirm(earlier.challenge)).toBe(422)
    const login = await answer(app, await challengeOf(app, user), later.recovery_codes[0])
    expect(login.statusCode).toBe(200)
  })

  it('and codes of an app are accepted at the login that hashes the password anew', async () => {
    await using rehashing = await startApp({
      database: app.database,
      settings: {
        ...factorSettings({ FACTOR_SECRET: FACTOR_KEY }),
        PASSWORD_HASH: 'argon2id',
        PASSWORD_HASH_ACCEPTED: 'sha1',
      },
    })
    rehashing.setClock(atStep(0))
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, atStep(0))
    rehashing.setClock(atStep(1))
    const answered = await answer(rehashing, await challengeOf(rehashing, user), codeAt(secret, atStep(1)))
    expect(answered.statusCode).toBe(200)
  })

  it('are not made for a user who has no factor to replace', async () => {
    const { token } = await enrolUser(app, await aUser(app), atStep(0))
    const [{ id }] = (await listOf(token)).factors
    expect((await remove(token, id)).statusCode).toBe(204)
    const refused = await post(app, '/profile/factors/recoverycodes', {}, token)
    expect(refused.json()).toMatchObject({
      status: 404,
      type: typeOf('factor-not-found'),
      detail: 'Recovery codes replace a second factor, and you have none; add one first',
    })
    expect(await listOf(token)).toEqual({ factors: [], recovery_codes: 0 })
  })
})

it('keeps one session from the login to the raised token', async () => {
  const token = await aToken(app, await aUser(app))
  const raised = await enrol(app, token, atStep(2))
  const answered = await app.server.inject({ url: '/sessions', headers: bearer(raised.token) })
  expect(answered.json().sessions).toMatchObject([
    { current: true, refreshed_at: new Date(START + 2 * STEP_MS).toISOString() },
  ])
})

describe('adding an authenticator app', () => {
  it('needs the password, and a first code, and is mailed', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const wrong = await post(app, '/profile/factors/totp', { current_password: 'wrong' }, token)
    expect(wrong.json().type).toBe(typeOf('wrong-password'))
    const early = await post(app, '/profile/factors/totp/confirm', { code: '123456' }, token)
    expect(early.json()).toMatchObject({
      status: 422,
      detail: expect.stringContaining('request a new secret'),
    })
    const begun = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, token)
    const { secret, uri } = begun.json()
    const label = encodeURIComponent(user.email)
    expect(uri).toBe(
      `otpauth://totp/Latchkey:${label}?issuer=Latchkey&secret=${secret}&algorithm=SHA1&digits=6&period=30`,
    )
    expect((await logIn(app, user.email)).statusCode, 'not confirmed').toBe(200)
    const now = atStep(0)
    const guess = codeAt(secret, now) === '000000' ? '000001' : '000000'
    const refused = await post(app, '/profile/factors/totp/confirm', { code: guess }, token)
    expect(refused.json()).toMatchObject({
      status: 422,
      detail: 'The code is wrong or was used already; send the next one, and check the clock of your device',
    })
    const confirm = () => post(app, '/profile/factors/totp/confirm', { code: codeAt(secret, now) }, token)
    const answers = await Promise.all([confirm(), confirm(), confirm()])
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 422, 422])
    const { recovery_codes: recoveryCodes, token: raised } =
      answers.find(({ statusCode }) => statusCode === 200)?.json() ?? {}
    expect(recoveryCodes).toHaveLength(10)
    expect(decodeJwt(raised)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], sid: decodeJwt(token).sid })
    const { variables } = await mailTo(app, user.email, 'factor-added')
    expect(variables).not.toHaveProperty('passkey')
    expect(variables, 'it is the first one').not.toHaveProperty('others')
    const replayed = await answer(app, await challengeOf(app, user), codeAt(secret, now))
    expect(replayed.statusCode, 'the code that confirmed it').toBe(422)
  })

  it('takes the code of either of two that two nodes of a database have begun at once', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const factors = createFactorRepository(app.database.db)
    const begin = async () => {
      const begun = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, token)
      const [pending] = await factors.find(user.userid)
      return { secret: begun.json().secret, pending }
    }
    const [first, second] = [await begin(), await begin()]
    if (!first.pending) throw new Error('No enrolment is pending')
    await factors.insert(
      { ...first.pending, begunUnder: first.pending.begunUnder ?? '', userid: user.userid },
      new Date(START - 1_000),
    )
    expect(await factors.find(user.userid)).toHaveLength(2)
    const wrong = codeAt(second.secret, START + 9 * STEP_MS)
    expect((await post(app, '/profile/factors/totp/confirm', { code: wrong }, token)).statusCode).toBe(422)
    const code = codeAt(second.secret, atStep(0))
    const confirmed = await post(app, '/profile/factors/totp/confirm', { code }, token)
    expect(confirmed.statusCode, confirmed.body).toBe(200)
    expect(await factors.find(user.userid)).toMatchObject([{ id: second.pending?.id }])
  })

  it('ends no other session of a user who has an app already', async () => {
    const user = await aUser(app)
    const { token, secret } = await enrolUser(app, user, atStep(0))
    const won = await answer(app, await challengeOf(app, user), codeAt(secret, atStep(1)))
    await enrol(app, token, atStep(2))
    expect(await ping(won.json().token)).toBe(200)
  })

  it('waits a quarter of an hour for the first code, and takes three apps', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const begun = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, token)
    const { secret } = begun.json()
    const late = atStep(30)
    const code = codeAt(secret, late)
    expect((await post(app, '/profile/factors/totp/confirm', { code }, token)).statusCode).toBe(422)
    let raised = await enrol(app, token, atStep(0))
    for (let more = 0; more < 2; more++) {
      const abandoned = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, raised.token)
      expect(abandoned.statusCode, abandoned.body).toBe(200)
      raised = await enrol(app, raised.token, atStep(0))
      expect(raised.recoveryCodes, 'those of before stay').toEqual([])
    }
    const fourth = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, raised.token)
    expect(fourth.json()).toMatchObject({ type: typeOf('too-many-factors'), status: 409 })
    expect((await listOf(raised.token)).factors).toHaveLength(3)
  })

  it.each([{ name: 'x'.repeat(300) }, { name: '' }, { name: 7 }, { current_password: 7 }])(
    'refuses bad input: %j',
    async (bad) => {
      const token = await aToken(app, await aUser(app))
      const response = await post(app, '/profile/factors/totp', { current_password: PASSWORD, ...bad }, token)
      expect(response.statusCode).toBe(400)
    },
  )
})

describe('a user with a factor', () => {
  it('needs a fresh one to change e-mail, password and factors', async () => {
    const user = await aUser(app)
    const old = await aToken(app, user)
    const { secret, token } = await enrol(app, old, atStep(0))
    const [{ id }] = (await listOf(token)).factors
    const guarded: { method: 'POST' | 'PUT' | 'DELETE'; url: string; payload?: object }[] = [
      { method: 'PUT', url: '/profile', payload: { email: 'other@example.com' } },
      {
        method: 'PUT',
        url: '/profile/password',
        payload: { current_password: PASSWORD, password: NEW_PASSWORD },
      },
      { method: 'POST', url: '/profile/factors/totp', payload: { current_password: PASSWORD } },
      { method: 'POST', url: '/profile/factors/recoverycodes' },
      { method: 'DELETE', url: `/profile/factors/${id}` },
    ]
    const send = (each: (typeof guarded)[number], by: string) =>
      app.server.inject({ ...each, headers: bearer(by) })
    const now = atStep(0)
    for (const each of guarded) {
      const refusal = await send(each, old)
      expect(refusal.json(), `${each.url} without`).toMatchObject({
        type: typeOf('insufficient-user-authentication'),
        status: 401,
        acr_values: 'urn:latchkey:acr:second-factor',
        max_age: 300,
      })
      expect(refusal.headers['www-authenticate']).toMatch(
        /^Bearer realm="latchkey", error="insufficient_user_authentication", error_description="[^"]+", acr_values="urn:latchkey:acr:second-factor", max_age="300"$/,
      )
      app.setClock(now + 301_000)
      expect((await send(each, token)).json(), `${each.url} late`).toMatchObject({
        status: 401,
        max_age: 300,
      })
      app.setClock(now)
    }
    const later = now + 310_000
    app.setClock(later)
    const raised = await post(app, '/login/stepup', { code: codeAt(secret, later) }, old)
    expect(decodeJwt(raised.json().token)).toMatchObject({
      amr: ['pwd', 'otp', 'mfa'],
      sid: decodeJwt(old).sid,
      auth_time: Math.floor(later / 1000),
    })
    expect((await send(guarded[4] ?? { method: 'PUT', url: '' }, raised.json().token)).statusCode).toBe(204)
    expect(await listOf(raised.json().token)).toEqual({ factors: [], recovery_codes: 0 })
    expect((await logIn(app, user.email)).statusCode, 'without a factor again').toBe(200)
    expect((await mailTo(app, user.email, 'factor-removed')).variables).toMatchObject({
      address: '127.0.*.*',
      last: 'last',
    })
  })

  it('cannot remove the factor of another user, or one twice', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const now = atStep(0)
    const [mine, others] = [await enrolUser(app, user, now), await enrolUser(app, other, now)]
    const [{ id }] = (await listOf(others.token)).factors
    const foreign = await remove(mine.token, id)
    expect(foreign.json()).toMatchObject({ status: 404, type: typeOf('factor-not-found') })
    const answers = await Promise.all(Array.from({ length: 4 }, () => remove(others.token, id)))
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([204, 404, 404, 404])
    expect((await remove(mine.token, 'not-an-id')).statusCode).toBe(400)
  })

  it('steps up by a code once, and never by the password', async () => {
    const user = await aUser(app)
    const old = await aToken(app, user)
    const { secret } = await enrol(app, old, atStep(0))
    const byPassword = await post(app, '/login/stepup', { current_password: PASSWORD }, old)
    expect(byPassword.statusCode).toBe(422)
    const code = codeAt(secret, atStep(1))
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(app, '/login/stepup', { code }, old)),
    )
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, ...Array(7).fill(422)])
    expect((await post(app, '/login/stepup', {}, old)).json()).toMatchObject({
      type: typeOf('second-factor-refused'),
      detail: 'The request has no code; send one of your second factor, or a recovery code',
    })
    expect(
      (await post(app, '/login/stepup', { code, current_password: PASSWORD }, old)).json(),
    ).toMatchObject({
      status: 400,
      errors: [{ message: 'must have either code or current_password' }],
    })
  })
})

describe('a user of a role that needs a factor', () => {
  it('can only add one, and then do everything but remove the last one', async () => {
    const admin = await aUser(app, { role: 'admin' })
    const token = await aToken(app, admin)
    const profile = (by: string) => app.server.inject({ url: '/profile', headers: bearer(by) })
    expect((await profile(token)).json()).toMatchObject({
      type: typeOf('insufficient-user-authentication'),
      acr_values: 'urn:latchkey:acr:second-factor',
    })
    const raised = await enrol(app, token, atStep(0))
    expect((await profile(token)).statusCode, 'by the token of before').toBe(401)
    expect((await profile(raised.token)).statusCode).toBe(200)
    const [{ id }] = (await listOf(raised.token)).factors
    expect((await remove(raised.token, id)).json()).toMatchObject({
      status: 409,
      type: typeOf('last-factor'),
    })
    expect((await logIn(app, admin.email)).statusCode).toBe(403)
    const second = await enrol(app, raised.token, atStep(0))
    expect((await remove(second.token, id)).statusCode).toBe(204)
    expect((await post(app, '/logout', {}, token)).statusCode).toBe(204)
  })
})

it('steps a user without a factor up by the password', async () => {
  const user = await aUser(app)
  const token = await aToken(app, user)
  const later = atStep(2)
  const wrong = await post(app, '/login/stepup', { current_password: 'wrong' }, token)
  expect(wrong.json().type).toBe(typeOf('wrong-password'))
  const raised = await post(app, '/login/stepup', { current_password: PASSWORD }, token)
  const claims = decodeJwt(raised.json().token)
  expect(claims).toMatchObject({ auth_time: Math.floor(later / 1000), sid: decodeJwt(token).sid })
  expect(claims).not.toHaveProperty('amr')
})

it('writes no secret, code or challenge into the log', async () => {
  const user = await aUser(app)
  const { secret, recoveryCodes } = await enrolUser(app, user, atStep(0))
  const challenge = await challengeOf(app, user)
  const code = codeAt(secret, atStep(1))
  await answer(app, challenge, recoveryCodes[0] ?? '')
  await answer(app, challenge, code)
  const log = app.logLines.join('\n')
  for (const shown of [secret, code, challenge, recoveryCodes[0] ?? '']) expect(log).not.toContain(shown)
  expect((await queuedMails(app)).length).toBeGreaterThan(0)
})

it('shows nothing where SECOND_FACTOR is off, and costs a login no statement where it is on', async () => {
  await using database = recording(await createTestDatabase())
  await using on = await startApp({ database, settings: factorSettings() })
  await using off = await startApp({ database })
  const user = await aUser(on)
  const statementsOf = async (each: TestApp) => {
    database.sent.length = 0
    expect(Object.keys((await logIn(each, user.email)).json())).toEqual(['token', 'data'])
    return database.names()
  }
  expect(await statementsOf(on)).toEqual(await statementsOf(off))
  const token = await aToken(off, user)
  for (const url of ['/login/secondfactor', '/login/stepup', '/profile/factors/totp'])
    expect((await post(off, url, {}, token)).statusCode, url).toBe(404)
  const description = (await off.server.inject('/openapi.json')).body
  expect(description).not.toMatch(/second.?factor|insufficient|amr/i)
  expect(await off.registry.metrics()).not.toContain('second_factor')
})

it('asks no change for the factor of a user where SECOND_FACTOR is off', async () => {
  await using database = await createTestDatabase()
  await using on = await startApp({ database, settings: factorSettings() })
  await using off = await startApp({ database })
  const user = await aUser(on)
  const before = START - 2 * STEP_MS
  on.setClock(before)
  await enrolUser(on, user, before)
  const changed = await off.server.inject({
    method: 'PUT',
    url: '/profile/password',
    headers: bearer(await aToken(off, user)),
    payload: { current_password: PASSWORD, password: NEW_PASSWORD },
  })
  expect(changed.statusCode, changed.body).toBe(200)
})
