import { hash } from 'node:crypto'
import { PHP_HASHES } from '@latchkey/shared/passwords/test/php-hashes.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { recordWaits } from './support/record-waits.ts'
import { logIn, softDelete, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app[Symbol.asyncDispose]())

describe('POST /login', () => {
  it('answers with a token and what it says of the user', async () => {
    const user = await aUser(app, { name: 'Ada Lovelace', role: 'admin' })
    const response = await logIn(app, user.email)
    expect(response.statusCode).toBe(200)
    expect(response.headers['cache-control']).toBe('no-store')
    const { token, data } = response.json()
    expect(data).toEqual({ userid: user.userid, name: 'Ada Lovelace', role: 'admin' })
    const [header, payload] = token
      .split('.', 2)
      .map((part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()))
    expect(header).toEqual({ alg: 'HS512', typ: 'JWT' })
    expect(payload).toMatchObject({ iss: 'http://localhost:8080', sub: user.userid, data })
    expect(payload.exp - payload.iat).toBe(3600)
    expect(payload.nbf).toBe(payload.iat)
    expect(payload).toMatchObject({ auth_time: payload.iat, valid_from: 0 })
    for (const id of [payload.jti, payload.sid]) expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(payload.sid).not.toBe(payload.jti)
  })

  it('gives a user without a name and a role the empty name and the role user', async () => {
    const user = await aUser(app, { role: '' })
    await app.users.setName(user.userid, null)
    expect((await logIn(app, user.email)).json().data).toMatchObject({ name: '', role: 'user' })
  })

  it('accepts a SHA-1 hash of bytes that were not normalised', async () => {
    await using rehashing = await startApp({
      database: app.database,
      settings: { PASSWORD_HASH: 'argon2id' },
    })
    const decomposed = 'Pa\u0308sswort-1!x'
    const user = await aUser(rehashing, { passwordHash: hash('sha1', decomposed) })
    expect((await logIn(rehashing, user.email, decomposed)).statusCode).toBe(200)
    expect(
      (await logIn(rehashing, user.email, decomposed.normalize('NFC'))).statusCode,
      'and normalises it then',
    ).toBe(200)
  })

  it('accepts a hash of PHP where its scheme is accepted, and replaces it', async () => {
    await using accepting = await startApp({
      database: app.database,
      settings: { PASSWORD_HASH_ACCEPTED: 'bcrypt' },
    })
    const [{ password, hashes }] = PHP_HASHES
    const user = await aUser(app, { passwordHash: hashes.bcrypt })
    expect((await logIn(app, user.email, password)).statusCode).toBe(401)
    expect(app.logLines.join('')).toContain(
      'stored hash cannot be verified: it is bcrypt, which PASSWORD_HASH_ACCEPTED does not name',
    )
    expect((await logIn(accepting, user.email, password)).statusCode).toBe(200)
    expect((await app.users.findById(user.userid))?.passwordHash).toBe(hash('sha1', password))
  })

  it.each([
    `$2y$31$${'.'.repeat(53)}`,
    `$argon2id$v=19$m=4194304,t=4,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`,
  ])('refuses %s without verifying it, and logs why without the hash', async (passwordHash) => {
    await using accepting = await startApp({
      database: app.database,
      settings: { PASSWORD_HASH_ACCEPTED: 'bcrypt,argon2id' },
    })
    const user = await aUser(app, { passwordHash })
    expect((await logIn(accepting, user.email)).statusCode).toBe(401)
    const log = accepting.logLines.join('\n')
    expect(log).toMatch(/"level":"warn".*stored hash cannot be verified: it has /)
    expect(log).toContain(user.userid)
    expect(log).not.toContain(passwordHash)
  })

  it('does not take the stored hash for the password', async () => {
    const user = await aUser(app)
    const refused = await logIn(app, user.email, hash('sha1', PASSWORD))
    expect(refused.statusCode).toBe(401)
    expect(refused.json().detail).toBe('The username or the password is wrong')
  })

  it('refuses unknown, wrong and deleted alike', async () => {
    const wrong = await aUser(app)
    const deleted = await aUser(app)
    await softDelete(app, deleted)
    const answers = [
      await logIn(app, wrong.email, 'not the password'),
      await logIn(app, 'nobody@example.com'),
      await logIn(app, deleted.email),
    ]
    const seen = answers.map(({ statusCode, headers, json }) => {
      const { 'x-request-id': id, date: _date, ...rest } = headers
      const { instance, ...body } = json()
      expect(instance).toBe(id)
      return { statusCode, rest, body }
    })
    expect(seen[0]).toMatchObject({
      statusCode: 401,
      body: { type: 'urn:latchkey:problem:invalid-credentials' },
    })
    expect(seen[1]).toEqual(seen[0])
    expect(seen[2]).toEqual(seen[0])
  })

  it('verifies one password, whoever is asked for: a hash is nearly all of the time that a login takes', async () => {
    const [known, deleted] = [await aUser(app), await aUser(app)]
    await softDelete(app, deleted)
    const verify = vi.spyOn(app.passwords, 'verify')
    onTestFinished(() => verify.mockRestore())
    for (const email of [known.email, deleted.email, 'nobody@example.com'])
      await logIn(app, email, 'not the password')
    const stored = hash('sha1', PASSWORD)
    expect(verify.mock.calls.map(([, given]) => given)).toEqual([stored, stored, undefined])
    expect(app.logLines.join()).toContain('"reason":"deleted_user"')
  })

  it('issues a token as of the moment at which the user was read: a change since then ends it', async () => {
    const user = await aUser(app)
    const verify = vi.spyOn(app.passwords, 'verify').mockImplementationOnce(async () => {
      app.setClock(Date.now() + 60_000)
      return { matches: true }
    })
    onTestFinished(() => {
      verify.mockRestore()
      app.setClock(undefined)
    })
    const before = Math.floor(Date.now() / 1000)
    const { iat = 0 } = decodeJwt((await logIn(app, user.email)).json().token)
    expect(iat - before).toBeLessThan(60)
  })

  it.each([
    { who: 'a user', usernameOf: ({ email }: { email: string }) => email },
    { who: 'nobody', usernameOf: ({ email }: { email: string }) => `nobody-${email}` },
  ])(
    'refuses $who at a multiple of 25 ms only: finding a row takes longer than finding none',
    async ({ usernameOf }) => {
      const username = usernameOf(await aUser(app))
      const waits = recordWaits()
      const { statusCode } = await logIn(app, username, 'not the password')
      expect(statusCode).toBe(401)
      expect(waits.filter((ms) => ms > 0 && ms <= 25)).toHaveLength(1)
    },
  )

  it.each([
    { body: {}, faults: { username: 'is required', password: 'is required' } },
    {
      body: { username: '', password: '' },
      faults: { username: 'must not be empty', password: 'must not be empty' },
    },
    {
      body: { username: ['a'], password: 5 },
      faults: { username: 'must be a string', password: 'must be a string' },
    },
    {
      body: { username: 'a\u0000b', password: 'x' },
      faults: { username: 'must not contain control characters' },
    },
    {
      body: { username: '\ud800', password: 'x' },
      faults: { username: 'must not contain control characters' },
    },
    { body: [], faults: { '': 'must be a JSON object' } },
  ])('names every fault of $body', async ({ body, faults }) => {
    const response = await app.server.inject({ method: 'POST', url: '/login', payload: body })
    expect(response.statusCode).toBe(400)
    const errors = response
      .json()
      .errors.map(({ path, message }: { path: string; message: string }) => [path, message])
    expect(Object.fromEntries(errors)).toEqual(faults)
  })

  it('ignores what it does not know', async () => {
    const user = await aUser(app)
    const payload = { username: user.email, password: PASSWORD, role: 'admin', __extra: 1 }
    const response = await app.server.inject({ method: 'POST', url: '/login', payload })
    expect(response.json().data.role).toBe('user')
  })

  it('logs neither password nor token', async () => {
    const user = await aUser(app)
    const { token } = (await logIn(app, user.email)).json()
    const log = app.logLines.join('')
    expect(log).not.toContain(PASSWORD)
    expect(log).not.toContain(token)
  })

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
    await using rehashing = await startApp({
      database: app.database,
      settings: { PASSWORD_HASH: 'argon2id' },
    })
    const user = await aUser(app)
    const before = await app.users.findById(user.userid)
    expect((await logIn(rehashing, user.email)).statusCode).toBe(200)
    const after = await app.users.findById(user.userid)
    expect(before?.passwordHash).toBe(hash('sha1', PASSWORD))
    expect(after?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect({ ...after, passwordHash: '' }).toEqual({ ...before, passwordHash: '' })
    expect((await logIn(rehashing, user.email)).statusCode, 'with the new hash').toBe(200)
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
