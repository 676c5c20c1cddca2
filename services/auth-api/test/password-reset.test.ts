import { openSealed } from '@latchkey/shared/mail/outbox/test/open-sealed.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { countRows } from '@latchkey/test-support/test-database.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { aToken, bearer, logIn, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { LOGIN_FIELD: 'email' } })
})
afterAll(() => app[Symbol.asyncDispose]())
afterEach(() => vi.restoreAllMocks())

const NEW_PASSWORD = 'N3w-p4ssw0rd!'

const post = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
const request = (email: string) => post('/login/resetrequest', { email })
const confirm = (email: string, code: string, token?: string) =>
  post('/login/confirmcode', { email, code, ...(token === undefined ? {} : { token }) })
const setPassword = (email: string, token: string, password = NEW_PASSWORD) =>
  post('/login/resetpassword', { email, token, password })

const jobsTo = (to: string) =>
  [...app.queued.values()].filter((job) => job.to === to && job.template === 'password-reset')

/** The mails that were queued for `to`, opened as mailer-worker opens them; the newest last. */
async function mailsTo(to: string) {
  await expect.poll(() => jobsTo(to).length).toBeGreaterThan(0)
  const jobs = jobsTo(to)
  const { secret } = app.config.mail
  return Promise.all(jobs.map(async (job) => ({ ...job, opened: await openSealed(secret, job.variables) })))
}

async function aReset(email: string): Promise<{ token: string; code: string }> {
  const before = jobsTo(email).length
  const { token } = (await request(email)).json()
  // Mails of other tests may be queued at the same time.
  await expect.poll(() => jobsTo(email).length).toBe(before + 1)
  const mails = await mailsTo(email)
  return { token, code: mails.at(-1)?.opened.code ?? '' }
}

async function aConfirmedReset(email: string): Promise<string> {
  const { token, code } = await aReset(email)
  return (await confirm(email, code, token)).json().token
}

const otherThan = (code: string) => (code === '000000' ? '000001' : '000000')

const count = (from: string) => countRows(app.database.db, from)

const expectRefused = (response: Awaited<ReturnType<typeof confirm>>) => {
  const { instance: _instance, ...body } = response.json()
  expect(response.statusCode).toBe(422)
  expect(body).toEqual({
    type: 'urn:latchkey:problem:reset-refused',
    title: 'Password reset refused',
    status: 422,
    detail: 'Invalid or expired code or token; try again, or request a new code',
  })
}

describe('a forgotten password', () => {
  it('is reset by request, code and new password, in the language of the user', async () => {
    const user = await aUser(app, { name: 'Zoë' })
    await app.users.setProperty(user.userid, 'language', 'pt')
    const old = await aToken(app, user)
    const requested = await request(user.email.toUpperCase())
    expect(requested.statusCode).toBe(200)
    expect(Object.keys(requested.json())).toEqual(['token'])
    expect(requested.headers['cache-control']).toBe('no-store')
    const [mail] = await mailsTo(user.email)
    expect(mail).toMatchObject({
      template: 'password-reset',
      language: 'pt',
      opened: { minutes: '10', name: 'Zoë' },
    })
    expect(mail?.opened.code).toMatch(/^[0-9]{6}$/)
    expect(Date.parse(mail?.expiresAt ?? '') - Date.now()).toBeGreaterThan(590_000)

    const confirmed = await confirm(user.email, mail?.opened.code ?? '', requested.json().token)
    expect(confirmed.statusCode).toBe(200)
    expect((await setPassword(user.email, confirmed.json().token)).statusCode).toBe(200)
    expect((await logIn(app, user.email)).statusCode, 'with the old password').toBe(401)
    const fresh = await logIn(app, user.email, NEW_PASSWORD)
    expect(fresh.statusCode, 'with the new one').toBe(200)
    const ping = (token: string) =>
      app.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })
    expect((await ping(old)).statusCode, 'an old token').toBe(401)
    expect((await ping(fresh.json().token)).statusCode, 'a new token, at once').toBe(200)
  })

  it('can be confirmed without the token, and gets a fresh one', async () => {
    const user = await aUser(app)
    const { token, code } = await aReset(user.email)
    const confirmed = await confirm(user.email, code)
    expect(confirmed.statusCode).toBe(200)
    expect(confirmed.json().token).not.toBe(token)
    expectRefused(await setPassword(user.email, token))
    expect((await setPassword(user.email, confirmed.json().token)).statusCode).toBe(200)
  })

  it('keeps the reset usable when the policy refuses the password', async () => {
    const user = await aUser(app)
    const token = await aConfirmedReset(user.email)
    const hash = vi.spyOn(app.passwords, 'hash')
    const refused = await setPassword(user.email, token, 'short')
    expect(refused.statusCode).toBe(422)
    expect(refused.json()).toMatchObject({
      type: 'urn:latchkey:problem:password-refused',
      violations: [
        { rule: 'MINIMUM_CHARS', number: 12 },
        { rule: 'REQUIRE_UPPERCASE', number: 1 },
        { rule: 'REQUIRE_SYMBOLS', number: 1 },
        { rule: 'REQUIRE_NUMBERS', number: 1 },
      ],
    })
    for (let again = 0; again < 20; again++) await setPassword(user.email, token, 'short')
    expect(hash).not.toHaveBeenCalled()
    expect((await setPassword(user.email, token)).statusCode).toBe(200)
  })

  it('sends the mail to the address in the row, not to the one that was typed', async () => {
    const user = await aUser(app, { email: 'Émile@example.com' })
    await request('éMILE@EXAMPLE.com')
    await mailsTo(user.email)
    expect([...app.queued.values()].map(({ to }) => to)).not.toContain('éMILE@EXAMPLE.com')
    const before = app.queued.size
    expect((await request('Emile@example.com')).statusCode, 'an e-mail that differs by its accent').toBe(200)
    expect(app.queued.size).toBe(before)
  })
})

describe('one and the same refusal', () => {
  it('meets a reset that was not confirmed, a wrong code, a used one, and none at all', async () => {
    const user = await aUser(app)
    const { token, code } = await aReset(user.email)
    expectRefused(await setPassword(user.email, token))
    expectRefused(await confirm(user.email, otherThan(code), token))
    expectRefused(await confirm(user.email, code, 'another token'))
    expectRefused(await confirm('nobody@example.com', code))
    expectRefused(await setPassword('nobody@example.com', token))
    const confirmed = (await confirm(user.email, code, token)).json().token
    expectRefused(await confirm(user.email, code, confirmed))
    expect((await setPassword(user.email, confirmed)).statusCode).toBe(200)
    expectRefused(await setPassword(user.email, confirmed))
  })

  it('meets the older of two requests', async () => {
    const user = await aUser(app)
    const older = await aReset(user.email)
    const newer = await aReset(user.email)
    expectRefused(await confirm(user.email, older.code, older.token))
    expect((await confirm(user.email, newer.code, newer.token)).statusCode).toBe(200)
  })

  it('meets the code and the confirmed token at the end of RESET_TTL, and not a moment before', async () => {
    const user = await aUser(app)
    const now = Date.now()
    try {
      app.setClock(now)
      const late = await aReset(user.email)
      app.setClock(now + 600_000)
      expectRefused(await confirm(user.email, late.code, late.token))
      app.setClock(now + 700_000)
      const inTime = await aReset(user.email)
      app.setClock(now + 1_299_999)
      const confirmed = await confirm(user.email, inTime.code, inTime.token)
      expect(confirmed.statusCode).toBe(200)
      app.setClock(now + 1_300_000)
      expectRefused(await setPassword(user.email, confirmed.json().token))
    } finally {
      app.setClock(undefined)
    }
  })

  it('meets a deleted user, who gets no mail', async () => {
    const user = await aUser(app)
    const token = await aConfirmedReset(user.email)
    await app.database.db.execute(
      { name: 'test-delete', text: 'update users set deleted_at = current_timestamp where userid = $1' },
      [app.database.db.toUuidValue(user.userid)],
    )
    const hash = vi.spyOn(app.passwords, 'hash')
    expectRefused(await setPassword(user.email, token))
    expect(hash).not.toHaveBeenCalled()
    const before = app.queued.size
    expect((await request(user.email)).statusCode).toBe(200)
    expect(app.queued.size).toBe(before)
  })
})

describe('what changes while the new password is hashed', () => {
  it.each([
    { what: 'the user is deleted', change: (userid: string) => app.users.softDelete(userid) },
    {
      what: 'the e-mail is another one',
      change: (userid: string) => app.users.setEmail(userid, 'moved@x.org'),
    },
    { what: 'the user has no e-mail', change: (userid: string) => app.users.setEmail(userid, null) },
  ])('ends the reset, and stores no password: $what', async ({ change }) => {
    const user = await aUser(app)
    const token = await aConfirmedReset(user.email)
    const { hash } = app.passwords
    vi.spyOn(app.passwords, 'hash').mockImplementationOnce(async (...given) => {
      await change(user.userid)
      return hash(...given)
    })
    const before = await app.users.findById(user.userid)
    expectRefused(await setPassword(user.email, token))
    expect((await app.users.findById(user.userid))?.passwordHash).toBe(before?.passwordHash)
    expectRefused(await setPassword(user.email, token))
  })
})

describe('attacks', () => {
  it('the fifth guess may be right', async () => {
    const user = await aUser(app)
    const { token, code } = await aReset(user.email)
    for (let guess = 0; guess < 4; guess++) expectRefused(await confirm(user.email, otherThan(code), token))
    expect((await confirm(user.email, code, token)).statusCode).toBe(200)
  })

  it('a change of e-mail ends the open resets, and one that changes nothing does not', async () => {
    const user = await aUser(app)
    const changeEmail = async (password: string, ...emails: string[]) => {
      const headers = bearer((await logIn(app, user.email, password)).json().token)
      for (const email of emails) {
        const changed = await app.server.inject({
          method: 'PUT',
          url: '/profile',
          headers,
          payload: { email },
        })
        expect(changed.statusCode).toBe(200)
      }
    }
    const moveAndBack = () => changeEmail(NEW_PASSWORD, `moved-${user.email}`, user.email)
    const kept = await aConfirmedReset(user.email)
    await changeEmail(PASSWORD, user.email.toUpperCase(), user.email)
    expect((await setPassword(user.email, kept)).statusCode).toBe(200)

    const open = await aReset(user.email)
    await moveAndBack()
    expectRefused(await confirm(user.email, open.code, open.token))
    const confirmed = await aConfirmedReset(user.email)
    await moveAndBack()
    expectRefused(await setPassword(user.email, confirmed))
  })

  it('a change of e-mail that is refused ends no reset', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const headers = bearer(await aToken(app, user))
    const token = await aConfirmedReset(user.email)
    const taken = await app.server.inject({
      method: 'PUT',
      url: '/profile',
      headers,
      payload: { email: other.email },
    })
    expect(taken.statusCode).toBe(409)
    expect((await setPassword(user.email, token)).statusCode).toBe(200)
  })

  it('known, unknown and deleted e-mails cause the same answer and the same rows', async () => {
    const known = await aUser(app)
    const observed = []
    for (const email of [known.email, 'nobody-at-all@example.com']) {
      const before = await count('password_reset')
      const response = await request(email)
      await expect.poll(() => count('mail_outbox where dispatched_at is null')).toBe(0)
      const { 'x-request-id': _id, date: _date, ...headers } = response.headers
      observed.push({
        headers,
        status: response.statusCode,
        length: response.body.length,
        rows: (await count('password_reset')) - before,
      })
    }
    expect(observed[1]).toEqual(observed[0])
    expect(observed[0]).toMatchObject({ status: 200, rows: 1 })
  })

  it('no code, token or password stands in the database or the log', async () => {
    const user = await aUser(app)
    const { token, code } = await aReset(user.email)
    await confirm(user.email, code, token)
    await setPassword(user.email, token, NEW_PASSWORD)
    const dump = []
    for (const table of ['users', 'users_property', 'password_reset', 'mail_outbox']) {
      dump.push(
        ...(await app.database.db.query({ name: `test-dump-${table}`, text: `select * from ${table}` })),
      )
    }
    const text = [
      ...dump.map((row) => JSON.stringify(row)),
      ...app.logLines,
      ...[...app.queued.values()].map((job) => JSON.stringify(job)),
    ].join('\n')
    expect(text).toContain(user.email)
    for (const secret of [token, NEW_PASSWORD, PASSWORD]) expect(text).not.toContain(secret)
    expect(text).not.toMatch(new RegExp(`(?<![0-9a-f])${code}(?![0-9a-f])`))
  })
})

describe('bad input is answered 400 and writes nothing', () => {
  const email = 'a@example.com'
  const oneAddress = { email: 'must be one e-mail address' }
  const sixDigits = { code: 'must be six digits' }
  it.each([
    { url: 'resetrequest', body: [], fault: { '': 'must be a JSON object' } },
    { url: 'resetrequest', body: {}, fault: { email: 'is required' } },
    { url: 'resetrequest', body: { email: 'a@example.com,b@example.com' }, fault: oneAddress },
    { url: 'resetrequest', body: { email: 'a,b@example.com' }, fault: oneAddress },
    { url: 'resetrequest', body: { email: 'a@example.com,example.net' }, fault: oneAddress },
    {
      url: 'resetrequest',
      body: { email: 'a@example.com\r\nBcc: b@example.com' },
      fault: { email: 'must not contain control characters' },
    },
    {
      url: 'resetrequest',
      body: { email: 'a@example.com\n' },
      fault: { email: 'must not contain control characters' },
    },
    { url: 'resetrequest', body: { email: 'Eve <a@example.com>' }, fault: oneAddress },
    { url: 'confirmcode', body: [], fault: { '': 'must be a JSON object' } },
    { url: 'confirmcode', body: { email, code: 123456 }, fault: { code: 'must be a string of six digits' } },
    { url: 'confirmcode', body: { email, code: '12345' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '1234567' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '12345\n' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '١٢٣٤٥٦' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '１２３４５６' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '123456', token: 5 }, fault: { token: 'must be a string' } },
    {
      url: 'confirmcode',
      body: { email, code: '123456', token: '' },
      fault: { token: 'must not be empty' },
    },
    {
      url: 'confirmcode',
      body: { email, code: '123456', token: 'x'.repeat(257) },
      fault: { token: 'is too long' },
    },
    { url: 'resetpassword', body: [], fault: { '': 'must be a JSON object' } },
    { url: 'resetpassword', body: { email, token: 'x' }, fault: { password: 'is required' } },
    {
      url: 'resetpassword',
      body: { email, token: 'x', password: '\ud800A1!aaaaaaaa' },
      fault: { password: 'must be whole characters' },
    },
  ])('$url $body', async ({ url, body, fault }) => {
    const before = [await count('password_reset'), await count('mail_outbox')]
    const response = await post(`/login/${url}`, body)
    expect(response.statusCode).toBe(400)
    const [{ path, message }] = response.json().errors
    expect({ [path]: message }).toEqual(fault)
    expect(await count('password_reset')).toBe(before[0])
    // Decoys of other tests leave it.
    expect(await count('mail_outbox')).toBeLessThanOrEqual(before[1] ?? 0)
  })
})

it('a token of the longest form that is accepted is refused like any other', async () => {
  expectRefused(await setPassword('a@example.com', 'x'.repeat(256)))
})
