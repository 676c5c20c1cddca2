import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aUser, logIn, PASSWORD, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { PASSWORD_HASH: 'argon2id' } })
})
afterAll(() => app[Symbol.asyncDispose]())

describe('POST /login', () => {
  it.each([
    { why: 'a blank behind the e-mail', with: (email: string) => `${email} ` },
    { why: 'a percent sign', with: () => '%' },
    { why: 'an underscore for a character', with: (email: string) => email.replace('@', '_') },
    { why: 'SQL', with: () => "' or '1'='1" },
    { why: 'the username, while e-mails are used', with: (email: string) => email.split('@')[0] ?? '' },
  ])('does not match $why', async ({ with: change }) => {
    const user = await aUser(app)
    expect((await logIn(app, change(user.email))).statusCode).toBe(401)
  })

  it('replaces a SHA-1 hash at the first login and changes nothing else of the user', async () => {
    const user = await aUser(app)
    const before = await app.users.findById(user.userid)
    expect((await logIn(app, user.email)).statusCode).toBe(200)
    const after = await app.users.findById(user.userid)
    expect(before?.passwordHash).toBe(hash('sha1', PASSWORD))
    expect(after?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect({ ...after, passwordHash: '' }).toEqual({ ...before, passwordHash: '' })
    expect((await logIn(app, user.email)).statusCode, 'with the new hash').toBe(200)
    expect((await app.users.findById(user.userid))?.passwordHash, 'is not replaced again').toBe(
      after?.passwordHash,
    )
  })

  it('takes the username instead where LOGIN_FIELD says so', async () => {
    await using byName = await startApp({ database: app.database, settings: { LOGIN_FIELD: 'username' } })
    const user = await aUser(byName, { username: 'Grace' })
    expect((await logIn(byName, 'grace')).statusCode).toBe(200)
    expect((await logIn(byName, user.email)).statusCode).toBe(401)
  })
})
