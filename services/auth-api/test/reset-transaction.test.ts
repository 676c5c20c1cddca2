import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RecordingDatabase, recording } from './support/recording-database.ts'
import { codeTo, logIn, startApp, type TestApp } from './support/start-app.ts'

let database: RecordingDatabase
let app: TestApp
beforeAll(async () => {
  database = recording(await createTestDatabase())
  app = await startApp({ database, settings: { SIGN_UP: 'on' } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const post = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
const setPassword = async (email: string, token: string) =>
  (await post('/login/resetpassword', { email, token, password: 'N3w-p4ssw0rd!' })).statusCode

async function aConfirmedReset({ email }: TestUser): Promise<string> {
  const { token } = (await post('/login/resetrequest', { email })).json()
  const code = await codeTo(app, email)
  return (await post('/login/confirmcode', { email, token, code })).json().token
}

async function statusWhile(statement: string, call: () => Promise<number>): Promise<number> {
  database.failing = statement
  try {
    return await call()
  } finally {
    database.failing = undefined
  }
}

describe('a new password', () => {
  it.each(['user-set-password', 'property-insert', 'password_reset-end-all'])(
    'changes nothing when %s fails, and can be set again',
    async (statement) => {
      const user = await aUser(app)
      const token = await aConfirmedReset(user)
      expect(await statusWhile(statement, () => setPassword(user.email, token))).toBe(500)
      expect((await logIn(app, user.email, PASSWORD)).statusCode, 'the old password').toBe(200)
      expect(await setPassword(user.email, token)).toBe(200)
      expect((await logIn(app, user.email, PASSWORD)).statusCode, 'afterwards').toBe(401)
    },
  )
})

describe('a reset request', () => {
  it.each(['password_reset-insert', 'outbox-insert'])('stores nothing when %s fails', async (statement) => {
    const { email } = await aUser(app)
    const ask = async () => (await post('/login/resetrequest', { email })).statusCode
    expect(await statusWhile(statement, ask)).toBe(500)
    const find = { name: 'test-find-reset', text: 'select id from password_reset where email = $1' }
    expect(await database.db.query(find, [email])).toEqual([])
  })
})

describe('the confirmation of a sign-up', () => {
  it.each(['sign_up-use', 'user-insert', 'property-insert'])(
    'creates nothing when %s fails, and can be repeated',
    async (statement) => {
      const email = `${statement}@example.com`
      const wanted = { email, username: statement, password: PASSWORD }
      const { token } = (await post('/signup', wanted)).json()
      const given = { email, token, code: await codeTo(app, email) }
      const confirm = async () => (await post('/signup/confirm', given)).statusCode
      expect(await statusWhile(statement, confirm)).toBe(500)
      expect((await logIn(app, email)).statusCode).toBe(401)
      expect(await confirm()).toBe(200)
      expect((await logIn(app, email)).statusCode).toBe(200)
    },
  )
})
