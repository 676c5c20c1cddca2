import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aUser, logIn, PASSWORD, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app[Symbol.asyncDispose]())

const softDelete = (userid: string) =>
  app.database.db.execute(
    { name: 'test-delete', text: 'update users set deleted_at = current_timestamp where userid = $1' },
    [app.database.db.toUuidValue(userid)],
  )

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
    expect(payload.jti).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('gives a user without a role the role user', async () => {
    const user = await aUser(app, { role: '' })
    expect((await logIn(app, user.email)).json().data.role).toBe('user')
  })

  it('leaves the case of the e-mail aside and minds its accents', async () => {
    await aUser(app, { email: 'andré.Q@example.com' })
    expect((await logIn(app, 'ANDRÉ.q@Example.com')).statusCode).toBe(200)
    expect((await logIn(app, 'andr\u0065\u0301.q@example.com')).statusCode, 'decomposed').toBe(200)
    expect((await logIn(app, 'andre.q@example.com')).statusCode, 'without the accent').toBe(401)
    await aUser(app, { email: 'andre.q@example.com' })
    expect((await logIn(app, 'andre.q@example.com')).statusCode, 'another user').toBe(200)
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

  it('never puts an old password back: a hash is replaced only while it is the one that was verified', async () => {
    const user = await aUser(app)
    await app.users.setPassword(user.userid, 'changed meanwhile')
    await app.database.db.transaction(async () =>
      app.users.replaceHash(user.userid, hash('sha1', PASSWORD), 'stale'),
    )
    expect((await app.users.findById(user.userid))?.passwordHash).toBe('changed meanwhile')
  })

  it('accepts a SHA-1 hash of bytes that were not normalised', async () => {
    const decomposed = 'Pa\u0308sswort-1!x'
    const user = await aUser(app, { passwordHash: hash('sha1', decomposed) })
    expect((await logIn(app, user.email, decomposed)).statusCode).toBe(200)
    expect(
      (await logIn(app, user.email, decomposed.normalize('NFC'))).statusCode,
      'and normalises it then',
    ).toBe(200)
  })

  it('does not take the stored hash for the password', async () => {
    const user = await aUser(app)
    expect((await logIn(app, user.email, hash('sha1', PASSWORD))).statusCode).toBe(401)
  })

  it('refuses unknown, wrong and deleted alike', async () => {
    const wrong = await aUser(app)
    const deleted = await aUser(app)
    await softDelete(deleted.userid)
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

  it('does the same work to refuse a wrong password, an unknown, a deleted and a SHA-1 user', async () => {
    const argon2 = await aUser(app)
    await logIn(app, argon2.email)
    const sha1 = await aUser(app)
    const deleted = await aUser(app)
    await softDelete(deleted.userid)
    const kinds = {
      wrong: () => logIn(app, argon2.email, 'not the password'),
      sha1: () => logIn(app, sha1.email, 'not the password'),
      unknown: () => logIn(app, 'nobody@example.com', 'not the password'),
      deleted: () => logIn(app, deleted.email, 'not the password'),
    }
    const works: Record<string, number[]> = {}
    for (let round = 0; round < 25; round++) {
      for (const [kind, attempt] of Object.entries(kinds)) {
        const before = process.cpuUsage()
        expect((await attempt()).statusCode).toBe(401)
        const { user, system } = process.cpuUsage(before)
        works[kind] = [...(works[kind] ?? []), (user + system) / 1e3]
      }
    }
    // In milliseconds of all threads' processor time, which other work on the machine does not lengthen. The hash takes
    // several, and what may differ much less than one; the least of each kind is what the process itself disturbs least.
    const least = Object.values(works).map((list) => Math.min(...list))
    expect(Math.max(...least) / Math.min(...least), JSON.stringify(works)).toBeLessThan(1.4)
  })

  it('answers 503 with Retry-After when too many logins wait, and serves protected routes meanwhile', async () => {
    await using busy = await startApp({
      database: app.database,
      settings: { HASH_CONCURRENCY: '1', HASH_QUEUE: '4' },
    })
    const user = await aUser(busy)
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => logIn(busy, user.email, 'not the password')),
    )
    const refused = answers.filter(({ statusCode }) => statusCode === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.every(({ statusCode }) => [401, 503].includes(statusCode))).toBe(true)
    expect(refused[0]?.headers['retry-after']).toBe('1')
    expect(refused[0]?.json().type).toBe('urn:latchkey:problem:overloaded')
    expect((await logIn(busy, user.email)).statusCode, 'afterwards').toBe(200)
  })

  it('takes the username instead where LOGIN_FIELD says so', async () => {
    await using byName = await startApp({ database: app.database, settings: { LOGIN_FIELD: 'username' } })
    const user = await aUser(byName, { username: 'Grace' })
    expect((await logIn(byName, 'grace')).statusCode).toBe(200)
    expect((await logIn(byName, user.email)).statusCode).toBe(401)
  })

  it.each([
    { body: {}, faults: { username: 'must be a string', password: 'must be a string' } },
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
})
