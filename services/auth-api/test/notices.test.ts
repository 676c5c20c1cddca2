import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countRows } from '../../test/support/test-database.ts'
import {
  aToken,
  aUser,
  bearer,
  codeTo,
  logIn,
  PASSWORD,
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
    const payload = { currentPassword: PASSWORD, password: NEW_PASSWORD }
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
    expect(noticed).toHaveLength(1)
  })

  it('of no failed logins where NOTICE_FAILED_LOGINS is off', async () => {
    await using silent = await startApp({ settings: { NOTICE_FAILED_LOGINS: 'off' } })
    const user = await aUser(silent)
    await failLogins(user.email, 20, silent)
    expect(await countAll(silent)).toEqual({ noticed: 0, mails: 0 })
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
