import { aUser } from '@latchkey/test-support/a-user.ts'
import { countRows } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logIn, queuedMails, softDelete, startApp, type TestApp } from './support/start-app.ts'

const PASSWORD = 'N3w-p4ssw0rd!'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { SIGN_UP: 'on' } })
})
afterAll(() => app[Symbol.asyncDispose]())

let counter = 0
const aName = () => `new${++counter}-${crypto.randomUUID().slice(0, 8)}`
const post = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
const signUp = (username: string, given: object = {}) =>
  post('/signup', { email: `${username}@example.com`, username, password: PASSWORD, ...given })

async function mailsTo(email: string, count = 1) {
  const find = async () => (await queuedMails(app)).filter(({ to }) => to === email)
  await expect.poll(find).toHaveLength(count)
  return find()
}

/** The code and the token of a sign-up. */
async function aSignUp(username = aName(), given: object = {}) {
  const { token } = (await signUp(username, given)).json()
  const email = `${username}@example.com`
  const [mail] = await mailsTo(email)
  return { username, email, token, code: mail?.variables.code ?? '' }
}

describe('a sign-up', () => {
  it('creates the user once its code is confirmed, and answers with a token', async () => {
    const pending = await aSignUp(aName(), { name: 'Ada', language: 'pt' })
    expect(await app.users.findByLogin('email', pending.email)).toBeUndefined()
    expect((await logIn(app, pending.email, PASSWORD)).statusCode).toBe(401)
    const confirmed = await post('/signup/confirm', pending)
    expect(confirmed.statusCode, confirmed.body).toBe(200)
    const headers = { authorization: `Bearer ${confirmed.json().token}` }
    const profile = await app.server.inject({ url: '/profile', headers })
    expect(profile.json()).toMatchObject({ email: pending.email, name: 'Ada', role: 'user', language: 'pt' })
    expect((await logIn(app, pending.email, PASSWORD)).statusCode).toBe(200)
    expect((await post('/signup/confirm', pending)).statusCode, 'a second time').toBe(422)
  })

  it('ends when it expires', async () => {
    const pending = await aSignUp()
    app.setClock(Date.now() + 601_000)
    expect((await post('/signup/confirm', pending)).statusCode).toBe(422)
    app.setClock(undefined)
  })

  it('can be confirmed under another username when its own is taken', async () => {
    const taken = await aUser(app)
    const other = aName()
    const { token } = (await signUp(taken.username, { email: `${other}@example.com` })).json()
    const [mail] = await mailsTo(`${other}@example.com`)
    const given = { email: `${other}@example.com`, token, code: mail?.variables.code }
    const conflict = await post('/signup/confirm', given)
    expect([conflict.statusCode, conflict.json().type]).toEqual([409, 'urn:latchkey:problem:username-taken'])
    expect((await post('/signup/confirm', { ...given, username: other })).statusCode).toBe(200)
  })

  it('is confirmed by its own token only, and a later one of a stranger does not end it', async () => {
    const mine = await aSignUp()
    const stranger = 'the-Strangers-p4ss!'
    const later = (await signUp(aName(), { email: mine.email, password: stranger })).json()
    const codes = (await mailsTo(mine.email, 2)).map(({ variables }) => variables.code)
    const { email, token } = mine
    for (const code of codes)
      expect((await post('/signup/confirm', { email, code })).statusCode, 'no token').toBe(400)
    const strangers = codes.find((code) => code !== mine.code)
    const mixed = { email, token, code: strangers }
    expect((await post('/signup/confirm', mixed)).statusCode).toBe(422)
    const another = { email, token: later.token, code: mine.code }
    expect((await post('/signup/confirm', another)).statusCode).toBe(422)
    expect((await post('/signup/confirm', mine)).statusCode).toBe(200)
    expect((await logIn(app, email, stranger)).statusCode).toBe(401)
    expect((await logIn(app, email, PASSWORD)).statusCode).toBe(200)
  })
})

describe('an e-mail that a user has', () => {
  it('is answered like a free one, with the same rows, and a mail to its owner', async () => {
    const owner = await aUser(app)
    const observed = []
    for (const email of [`${aName()}@example.com`, owner.email]) {
      const before = await countRows(app.database.db, 'sign_up')
      const { statusCode, headers, body } = await signUp(aName(), { email })
      const shape = Object.keys(JSON.parse(body))
      observed.push({
        statusCode,
        headers: Object.keys(headers),
        shape,
        rows: (await countRows(app.database.db, 'sign_up')) - before,
      })
    }
    expect(observed[1]).toEqual(observed[0])
    expect(observed[0]).toMatchObject({ statusCode: 202, shape: ['token'], rows: 1 })
    const [mail] = await mailsTo(owner.email)
    expect(mail?.template).toBe('sign-up-taken')
    expect(Object.keys(mail?.variables ?? {})).not.toContain('code')
  })

  it('tells the owner of a deleted account that the address cannot sign up, and sends no code', async () => {
    const owner = await aUser(app)
    await softDelete(app, owner)
    expect((await signUp(aName(), { email: owner.email })).statusCode).toBe(202)
    const [mail] = await mailsTo(owner.email)
    expect([mail?.template, mail?.variables.code]).toEqual(['sign-up-deleted', undefined])
  })

  it('that was taken since the sign-up refuses the code, and changes nothing', async () => {
    const pending = await aSignUp()
    await aUser(app, { email: pending.email.toUpperCase() })
    const answer = await post('/signup/confirm', pending)
    expect([answer.statusCode, answer.json().type]).toEqual([422, 'urn:latchkey:problem:signup-refused'])
    expect(await app.users.findByLogin('username', pending.username)).toBeUndefined()
  })
})

const ADA = { email: 'ada@example.com', username: 'ada', password: PASSWORD }
const postTo = ({ server }: TestApp, url: string, payload: object, remoteAddress = '192.0.2.1') =>
  server.inject({ method: 'POST', url, payload, remoteAddress })

it('there is no sign-up unless SIGN_UP is on', async () => {
  await using app = await startApp()
  for (const url of ['/signup', '/signup/confirm']) expect((await postTo(app, url, ADA)).statusCode).toBe(404)
})

it('sign-up is bounded: by domain, by policy, and by limits that each e-mail and address has', async () => {
  await using app = await startApp({
    settings: { SIGN_UP: 'on', SIGN_UP_DOMAINS: 'example.com, Example.org', RATE_LIMIT_RESET: '2' },
  })
  const outside = await postTo(app, '/signup', { ...ADA, email: 'ada@example.com.evil.net' })
  expect(outside.json()).toMatchObject({
    status: 422,
    type: 'urn:latchkey:problem:signup-refused',
    detail: 'Sign-up is not open to e-mail addresses of this domain; use another address',
  })
  const weak = await postTo(app, '/signup', { ...ADA, password: 'short' })
  expect(weak.json()).toMatchObject({ status: 422, type: 'urn:latchkey:problem:password-refused' })
  for (const username of ['', ' ada', 'a'.repeat(21), 'a\u0007'])
    expect((await postTo(app, '/signup', { ...ADA, username })).statusCode).toBe(400)
  expect(await countRows(app.database.db, 'sign_up'), 'nothing of that is stored or counted').toBe(0)

  for (const email of ['ada@example.com', 'ADA@EXAMPLE.ORG'])
    expect((await postTo(app, '/signup', { ...ADA, email })).statusCode).toBe(202)
  expect(
    (await postTo(app, '/signup', { ...ADA, email: 'grace@example.com' })).statusCode,
    'the address',
  ).toBe(429)
  const statuses = []
  for (let client = 2; client < 12; client++)
    statuses.push((await postTo(app, '/signup', ADA, `192.0.2.${client}`)).statusCode)
  expect(statuses.filter((status) => status === 202).length, 'mails to one e-mail').toBeLessThanOrEqual(5)
  expect(statuses.at(-1)).toBe(429)
})

it('a username is no e-mail but the own one: an admin would take one account for the other', async () => {
  await using app = await startApp({ settings: { SIGN_UP: 'on' } })
  const refused = await postTo(app, '/signup', { ...ADA, username: 'grace@example.com' })
  expect(refused.json()).toMatchObject({
    status: 400,
    errors: [{ path: 'username', message: 'must not be the e-mail of another account' }],
  })
  const pending = { ...ADA, email: 'ada@x.example', username: 'ADA@x.example' }
  const { token } = (await postTo(app, '/signup', pending)).json()
  await expect.poll(() => queuedMails(app)).toHaveLength(1)
  const code = (await queuedMails(app))[0]?.variables.code
  const given = { email: pending.email, token, code }
  const other = await postTo(app, '/signup/confirm', { ...given, username: 'grace@example.com' })
  expect(other.statusCode).toBe(400)
  expect((await postTo(app, '/signup/confirm', given)).statusCode).toBe(200)
})

it('a code for one purpose is none for another, and a stranger writes no line of a mail', async () => {
  await using app = await startApp({ settings: { SIGN_UP: 'on' } })
  const { email } = await aUser(app)
  await postTo(app, '/login/resetrequest', { email })
  const { token } = (await postTo(app, '/signup', { ...ADA, name: 'Win a prize at evil.example' })).json()
  await expect.poll(() => queuedMails(app)).toHaveLength(2)
  const mails = await queuedMails(app)
  const codeOf = (name: string) => mails.find(({ template }) => template === name)?.variables.code
  const given = { email: ADA.email, token, code: codeOf('password-reset') }
  const wrongPurpose = await postTo(app, '/signup/confirm', given)
  expect(wrongPurpose.statusCode).toBe(422)
  const reset = await postTo(app, '/login/confirmcode', { email: ADA.email, code: codeOf('sign-up') })
  expect(reset.statusCode).toBe(422)
  expect(JSON.stringify(mails)).not.toContain('evil.example')
  expect(app.logLines.join()).not.toContain(ADA.email)
})
