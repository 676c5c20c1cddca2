import { hash, randomBytes } from 'node:crypto'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { codeAt, enrolUser, factorSettings } from './support/factors.ts'
import { logIn, startApp, type TestApp } from './support/start-app.ts'

const HOUR_MS = 60 * 60 * 1000
const STEP_MS = 30_000
const NEW_PASSWORD = 'N3w-p4ssw0rd!'
const typeOf = (name: string) => `urn:latchkey:problem:${name}`
const SETTINGS = factorSettings({
  RATE_LIMIT_LOGIN: '10',
  NOTICE_NEW_CLIENT: 'on',
  TRUST_PROXY: 'loopback',
  JWT_SECRET: randomBytes(64).toString('base64'),
})

let database: TestDatabase
let app: TestApp
let user: TestUser
let secret: string
let recoveryCodes: string[]
let now: number
beforeAll(async () => {
  database = await createTestDatabase()
  app = await startApp({ settings: SETTINGS, database })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})
beforeEach(async () => {
  now = Math.ceil(Date.now() / STEP_MS) * STEP_MS
  app.setClock(now)
  user = await aUser(app)
  const enrolled = await enrolUser(app, user, now)
  secret = enrolled.secret
  recoveryCodes = enrolled.recoveryCodes
  pass(STEP_MS)
})

function pass(milliseconds: number): void {
  now += milliseconds
  app.setClock(now)
}

let addresses = 0
/** An address from which nobody has logged in. */
const stranger = () => `10.1.${Math.floor(++addresses / 250)}.${1 + (addresses % 250)}`
async function answerFrom(
  address: string,
  code: string,
  { to = app, agent = 'a browser', password = PASSWORD } = {},
) {
  const { challenge } = (await logIn(to, user.email, password)).json()
  return to.server.inject({
    method: 'POST',
    url: '/login/secondfactor',
    payload: { challenge, code },
    headers: { 'x-forwarded-for': address, 'user-agent': agent },
  })
}
const right = () => codeAt(secret, now)
const wrong = () => {
  const valid = [-1, 0, 1].map((step) => codeAt(secret, now + step * STEP_MS))
  return ['000000', '111111', '222222', '333333'].find((code) => !valid.includes(code)) ?? ''
}

const users = () => createUserRepository(app.database.db)
const storedHash = async () => (await users().findById(user.userid))?.passwordHash ?? ''
async function guesses(): Promise<string | null | undefined> {
  const stored = await users().findById(user.userid)
  return stored?.properties.find(({ name }) => name === 'latchkey.guesses')?.value?.split(' ')[1]
}
/** Stores what so many more wrong codes of strangers leave. */
async function guessed(count: number): Promise<void> {
  const stored = await users().findById(user.userid)
  const value = stored?.properties.find(({ name }) => name === 'latchkey.guesses')?.value ?? ''
  const known = value
    .split(' ')
    .slice(3)
    .map((address) => ` ${address}`)
    .join('')
  const digest = hash('sha256', await storedHash(), 'base64url').slice(0, 16)
  await users().setProperty(
    user.userid,
    'latchkey.guesses',
    `${digest} ${count} ${Math.floor(now / 1000)}${known}`,
  )
}

describe('wrong codes after one password, of all days', () => {
  it('are counted of strangers, also at once, and of nothing else', async () => {
    for (let guess = 1; guess <= 3; guess++)
      expect((await answerFrom(stranger(), wrong())).statusCode).toBe(422)
    expect(await guesses()).toBe('3')
    await Promise.all(Array.from({ length: 4 }, () => answerFrom(stranger(), wrong())))
    expect(await guesses(), 'at once').toBe('7')

    expect((await answerFrom(stranger(), 'AAAA-BBBB-CCCC-DDDD')).statusCode, 'a recovery code').toBe(422)
    const known = stranger()
    expect((await answerFrom(known, right())).statusCode).toBe(200)
    expect((await answerFrom(known, wrong())).statusCode, 'of the owner').toBe(422)
    expect((await logIn(app, user.email, 'wr0ng-Password!')).statusCode, 'a wrong password').toBe(401)
    expect(await guesses()).toBe('7')
  })

  it('slow strangers down from the hundredth on: a code an hour', async () => {
    await guessed(99)
    expect((await answerFrom(stranger(), wrong())).statusCode).toBe(422)
    const slowed = await answerFrom(stranger(), right())
    expect(slowed.json()).toMatchObject({ type: typeOf('rate-limited') })
    expect(slowed.headers['retry-after']).toBe('3600')
    pass(HOUR_MS)
    expect((await answerFrom(stranger(), wrong())).statusCode, 'after an hour').toBe(422)
    expect((await answerFrom(stranger(), right())).statusCode, 'at once again').toBe(429)
    pass(HOUR_MS)
    expect((await answerFrom(stranger(), right())).statusCode, 'after another').toBe(200)
  })

  describe('that have reached their total', () => {
    it('need a new password of strangers, who hear it after the right one only', async () => {
      await guessed(300)
      const refused = await answerFrom(stranger(), right())
      expect([refused.statusCode, refused.json()]).toMatchObject([
        403,
        { type: typeOf('password-exposed'), detail: expect.stringContaining('/login/resetrequest') },
      ])
      pass(400 * HOUR_MS)
      expect((await answerFrom(stranger(), right())).statusCode, 'for ever').toBe(403)
      expect((await logIn(app, user.email, 'wr0ng-Password!')).json()).toMatchObject({
        type: typeOf('invalid-credentials'),
      })
      await users().setPassword(user.userid, hash('sha1', NEW_PASSWORD))
      expect((await answerFrom(stranger(), right(), { password: NEW_PASSWORD })).statusCode).toBe(200)
    })

    it('leave strangers the recovery codes', async () => {
      await guessed(300)
      const address = stranger()
      expect((await answerFrom(address, recoveryCodes[0] ?? '')).statusCode).toBe(200)
      expect((await answerFrom(address, right())).statusCode, 'known now').toBe(200)
    })

    it('leave the owner the addresses of before, also on a replica that has just started', async () => {
      const known = '10.200.7.7'
      expect((await answerFrom(known, right())).statusCode).toBe(200)
      pass(STEP_MS)
      await guessed(300)
      expect((await answerFrom(known, right())).statusCode).toBe(200)
      pass(STEP_MS)
      await using replica = await startApp({
        settings: SETTINGS,
        database,
      })
      replica.setClock(now)
      const there = { to: replica }
      expect((await answerFrom(stranger(), right(), there)).statusCode, 'a stranger').toBe(403)
      expect((await answerFrom(known, wrong(), there)).statusCode).toBe(422)
      expect(await guesses()).toBe('300')
      expect((await answerFrom(known, right(), there)).statusCode).toBe(200)
    })

    it('leave the owner what strangers spend on a replica', async () => {
      const known = '10.201.7.7'
      expect((await answerFrom(known, right())).statusCode).toBe(200)
      pass(STEP_MS)
      await guessed(300)
      await using replica = await startApp({ settings: SETTINGS, database })
      replica.setClock(now)
      const there = { to: replica }
      for (let guess = 0; guess < 120; guess++)
        expect((await answerFrom(stranger(), right(), there)).statusCode).toBe(403)
      expect((await answerFrom(known, right(), there)).statusCode).toBe(200)
    })

    it('are of an address, not of a browser or a network', async () => {
      const known = '10.202.7.7'
      expect((await answerFrom(known, right())).statusCode).toBe(200)
      pass(STEP_MS)
      await guessed(300)
      expect((await answerFrom('10.202.7.8', right())).statusCode, 'a neighbour').toBe(403)
      expect((await answerFrom(known, right(), { agent: 'another browser' })).statusCode).toBe(200)
    })
  })
})
