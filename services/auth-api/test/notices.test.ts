import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { countRows } from '@latchkey/test-support/test-database.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  aToken,
  bearer,
  codeTo,
  logIn,
  queuedMails,
  softDelete,
  startApp,
  type TestApp,
} from './support/start-app.ts'

const NEW_PASSWORD = 'N3w-p4ssw0rd!'

let app: TestApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app[Symbol.asyncDispose]())

const noticesTo = async (email: string, on = app) =>
  (await queuedMails(on)).filter(({ to, template }) => to === email && template !== 'password-reset')

async function failLogins(email: string, times: number, on = app): Promise<void> {
  for (let time = 0; time < times; time++) await logIn(on, email, 'a wrong password')
}

/** The rows that many failed logins leave. */
const countAll = async ({ database: { db } } = app) => ({
  noticed: await countRows(db, "audit_event where name = 'failed_logins.noticed'"),
  mails: await countRows(db, 'mail_outbox'),
})

describe('a user is told', () => {
  it('that the password was changed, when, and from where, in their language', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    await app.server.inject({
      method: 'PUT',
      url: '/profile',
      headers: bearer(token),
      payload: { language: 'fr' },
    })
    const payload = { current_password: PASSWORD, password: NEW_PASSWORD }
    await app.server.inject({ method: 'PUT', url: '/profile/password', headers: bearer(token), payload })
    await expect.poll(() => noticesTo(user.email)).toHaveLength(1)
    const [mail] = await noticesTo(user.email)
    expect(mail).toMatchObject({
      template: 'password-changed',
      language: 'fr',
      variables: {
        name: 'Ada',
        account: 'u***@example.com',
        address: '127.0.*.*',
        at: expect.stringMatching(/UTC$/),
      },
    })
    expect(JSON.stringify(mail)).not.toContain(NEW_PASSWORD)
  })

  it('that the password was reset', async () => {
    const { email } = await aUser(app)
    const post = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
    const { token } = (await post('/login/resetrequest', { email })).json()
    await post('/login/confirmcode', { email, token, code: await codeTo(app, email) })
    expect(await noticesTo(email)).toEqual([])
    await post('/login/resetpassword', { email, token, password: NEW_PASSWORD })
    await expect
      .poll(async () => (await noticesTo(email)).map(({ template }) => template))
      .toEqual(['password-changed'])
  })

  it('of many failed logins, once a day, however many there are', async () => {
    const user = await aUser(app)
    await failLogins(user.email, 19)
    expect(await noticesTo(user.email)).toEqual([])
    await failLogins(user.email, 41)
    await expect.poll(() => noticesTo(user.email)).toHaveLength(1)
    expect((await noticesTo(user.email))[0]).toMatchObject({
      template: 'failed-logins',
      variables: { count: '20', address: '127.0.*.*' },
    })
    app.setClock(Date.now() + 25 * 3_600_000)
    await failLogins(user.email, 20)
    await expect.poll(() => noticesTo(user.email)).toHaveLength(2)
    app.setClock(undefined)
  })

  it('once, when two replicas see many failed logins at the same time', async () => {
    await using replica = await startApp({ database: app.database })
    const user = await aUser(app)
    await Promise.all([failLogins(user.email, 20), failLogins(user.email, 20, replica)])
    const all = async () => [...(await noticesTo(user.email)), ...(await noticesTo(user.email, replica))]
    await expect.poll(all).toHaveLength(1)
    const { findNewest } = createAuditRepository(app.database.db)
    const noticed = (await findNewest(user.userid, 100)).filter(
      ({ name }) => name === 'failed_logins.noticed',
    )
    expect(noticed).toEqual([expect.objectContaining({ requestId: expect.any(String) })])
    const logged = [...app.logLines, ...replica.logLines]
      .map((line) => JSON.parse(line))
      .filter(({ msg, userid }) => msg === 'failed_logins.noticed' && userid === user.userid)
    expect(logged).toMatchObject([{ reqId: noticed[0]?.requestId }])
  })

  it('of no failed logins where NOTICE_FAILED_LOGINS is off', async () => {
    await using silent = await startApp({ settings: { NOTICE_FAILED_LOGINS: 'off' } })
    const user = await aUser(silent)
    await failLogins(user.email, 20, silent)
    expect(await countAll(silent)).toEqual({ noticed: 0, mails: 0 })
  })
})

describe('a user is told of a new client', () => {
  const HOUR_MS = 3_600_000
  const CHROME = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/'
  let curious: TestApp
  beforeAll(async () => {
    curious = await startApp({ settings: { NOTICE_NEW_CLIENT: 'on' } })
  })
  afterEach(() => curious.setClock(undefined))
  afterAll(() => curious[Symbol.asyncDispose]())

  async function logInWith(email: string, agent: string, remoteAddress = '192.0.2.7', on = curious) {
    const payload = { username: email, password: PASSWORD }
    const headers = { 'user-agent': agent }
    const response = await on.server.inject({
      method: 'POST',
      url: '/login',
      headers,
      remoteAddress,
      payload,
    })
    expect(response.statusCode).toBe(200)
  }
  const passHours = (hours: number) => curious.setClock(Date.now() + hours * HOUR_MS)

  it('once, and not of the first one, of another version, or of a neighbouring address', async () => {
    const { email, userid } = await aUser(curious)
    await logInWith(email, `${CHROME}140.0.0.0`)
    await logInWith(email, `${CHROME}141.0.7390.54`, '192.0.200.9')
    expect(await noticesTo(email, curious)).toEqual([])
    for (const _ of Array(3).keys()) await logInWith(email, 'curl/8.14.1', '198.51.100.7')
    await expect.poll(() => noticesTo(email, curious)).toHaveLength(1)
    const [mail] = await noticesTo(email, curious)
    expect(mail).toMatchObject({ template: 'new-client', variables: { name: 'Ada', address: '198.51.*.*' } })
    expect(JSON.stringify(mail)).not.toContain('curl')
    passHours(2)
    await logInWith(email, 'curl/8.14.1', '198.51.100.7')
    await logInWith(email, `${CHROME}140.0.0.0`, '203.0.113.7')
    await expect.poll(() => noticesTo(email, curious)).toHaveLength(2)
    const events = await createAuditRepository(curious.database.db).findNewest(userid, 100)
    expect(events.filter(({ name }) => name === 'new_client.noticed')).toHaveLength(2)
  })

  it('once an hour, however many there are, and of those that follow later', async () => {
    const { email } = await aUser(curious)
    for (const agent of ['first', 'second', 'third', 'fourth']) await logInWith(email, agent)
    await expect.poll(() => noticesTo(email, curious)).toHaveLength(1)
    for (let hours = 2; hours < 60; hours += 2) {
      passHours(hours)
      await logInWith(email, 'x'.repeat(hours))
    }
    await expect.poll(() => noticesTo(email, curious)).toHaveLength(30)
  })

  it('once, when two logins of it arrive at the same time', async () => {
    const { email } = await aUser(curious)
    await logInWith(email, 'first')
    await Promise.all(Array.from({ length: 4 }, () => logInWith(email, 'second')))
    await expect.poll(() => noticesTo(email, curious)).toHaveLength(1)
  })

  it('but not where NOTICE_NEW_CLIENT is off, as by default', async () => {
    const { email } = await aUser(app)
    for (const agent of ['first', 'second']) await logInWith(email, agent, '192.0.2.7', app)
    expect(await noticesTo(email)).toEqual([])
  })
})

it('many failed logins leave the same rows for an unknown and a deleted user, and no mail', async () => {
  const deleted = await aUser(app)
  await softDelete(app, deleted)
  for (const email of ['nobody@example.com', deleted.email]) {
    const before = await countAll()
    await failLogins(email, 20)
    await expect.poll(async () => (await countAll()).noticed).toBe(before.noticed + 1)
    expect(await noticesTo(email)).toEqual([])
  }
})
