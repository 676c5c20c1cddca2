import { expect, it } from 'vitest'
import { countRows } from '../../test/support/test-database.ts'
import { aUser, queuedMails, startApp, type TestApp } from './support/start-app.ts'

const PASSWORD = 'N3w-p4ssw0rd!'
const ADA = { email: 'ada@example.com', username: 'ada', password: PASSWORD }

const post = (app: TestApp, url: string, payload: object, remoteAddress = '192.0.2.1') =>
  app.server.inject({ method: 'POST', url, payload, remoteAddress })
it('there is no sign-up unless SIGN_UP is on', async () => {
  await using app = await startApp()
  for (const url of ['/signup', '/signup/confirm']) expect((await post(app, url, ADA)).statusCode).toBe(404)
})

it('sign-up is bounded: by domain, by policy, and by limits that each e-mail and address has', async () => {
  await using app = await startApp({
    settings: { SIGN_UP: 'on', SIGN_UP_DOMAINS: 'example.com, Example.org', RATE_LIMIT_RESET: '2' },
  })
  const outside = await post(app, '/signup', { ...ADA, email: 'ada@example.com.evil.net' })
  expect([outside.statusCode, outside.json().type]).toEqual([422, 'urn:latchkey:problem:signup-refused'])
  const weak = await post(app, '/signup', { ...ADA, password: 'short' })
  expect(weak.json()).toMatchObject({ status: 422, type: 'urn:latchkey:problem:password-refused' })
  for (const username of ['', ' ada', 'a'.repeat(21), 'a\u0007'])
    expect((await post(app, '/signup', { ...ADA, username })).statusCode).toBe(400)
  expect(await countRows(app.database.db, 'sign_up'), 'nothing of that is stored or counted').toBe(0)

  for (const email of ['ada@example.com', 'ADA@EXAMPLE.ORG'])
    expect((await post(app, '/signup', { ...ADA, email })).statusCode).toBe(202)
  expect((await post(app, '/signup', { ...ADA, email: 'grace@example.com' })).statusCode, 'the address').toBe(
    429,
  )
  const statuses = []
  for (let client = 2; client < 12; client++)
    statuses.push((await post(app, '/signup', ADA, `192.0.2.${client}`)).statusCode)
  expect(statuses.filter((status) => status === 202).length, 'mails to one e-mail').toBeLessThanOrEqual(5)
  expect(statuses.at(-1)).toBe(429)
})

it('a username is no e-mail but the own one: an admin would take one account for the other', async () => {
  await using app = await startApp({ settings: { SIGN_UP: 'on' } })
  const refused = await post(app, '/signup', { ...ADA, username: 'grace@example.com' })
  expect(refused.json()).toMatchObject({
    status: 400,
    errors: [{ path: 'username', message: 'must not be the e-mail of another account' }],
  })
  const pending = { ...ADA, email: 'ada@x.example', username: 'ADA@x.example' }
  const { token } = (await post(app, '/signup', pending)).json()
  await expect.poll(() => queuedMails(app)).toHaveLength(1)
  const code = (await queuedMails(app))[0]?.variables.code
  const given = { email: pending.email, token, code }
  const other = await post(app, '/signup/confirm', { ...given, username: 'grace@example.com' })
  expect(other.statusCode).toBe(400)
  expect((await post(app, '/signup/confirm', given)).statusCode).toBe(200)
})

it('a code for one purpose is none for another, and a stranger writes no line of a mail', async () => {
  await using app = await startApp({ settings: { SIGN_UP: 'on' } })
  const { email } = await aUser(app)
  await post(app, '/login/resetrequest', { email })
  const { token } = (await post(app, '/signup', { ...ADA, name: 'Win a prize at evil.example' })).json()
  await expect.poll(() => queuedMails(app)).toHaveLength(2)
  const mails = await queuedMails(app)
  const codeOf = (name: string) => mails.find(({ template }) => template === name)?.variables.code
  const given = { email: ADA.email, token, code: codeOf('password-reset') }
  const wrongPurpose = await post(app, '/signup/confirm', given)
  expect(wrongPurpose.statusCode).toBe(422)
  const reset = await post(app, '/login/confirmcode', { email: ADA.email, code: codeOf('sign-up') })
  expect(reset.statusCode).toBe(422)
  expect(JSON.stringify(mails)).not.toContain('evil.example')
  expect(app.logLines.join()).not.toContain(ADA.email)
})
