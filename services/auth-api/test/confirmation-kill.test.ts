import type { Statement } from '@latchkey/shared/database/database.ts'
import { expect, it } from 'vitest'
import { addressOf, startServiceProcess } from '../../test/support/auth-api-process.ts'
import { queueUrl } from '../../test/support/engine.ts'
import { countRows } from '../../test/support/test-database.ts'
import {
  aToken,
  aUser,
  bearer,
  codeTo,
  logIn,
  PASSWORD,
  startApp,
  type TestApp,
} from './support/start-app.ts'

const LOCK: Statement = { name: 'kill-lock', text: 'lock table audit_event in exclusive mode' }
const FIND_WAITING: Statement = {
  name: 'kill-waiting',
  text: 'select pid from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())',
}
const FIND_OPEN: Statement = {
  name: 'kill-open',
  text: "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'",
}
/** What each confirmation writes, and what it removes. */
const TABLES = ['users', 'users_property', 'sign_up', 'audit_event', 'mail_outbox', 'token_revocation']

it('a kill in the middle of a confirmation leaves nothing half done, and the code usable', async () => {
  await using app = await startApp({ settings: { SIGN_UP: 'on', EMAIL_CHANGE: 'confirmed' } })
  const change = await aChange(app)
  const signUp = await aSignUp(app)
  const before = await rowsOf(app)

  await using service = startServiceProcess({
    DATABASE_URL: app.database.url,
    QUEUE_URL: await queueUrl(),
    SIGN_UP: 'on',
    EMAIL_CHANGE: 'confirmed',
    JWT_SECRET: base64(app.config.tokens.secret),
    MAIL_SECRET: base64(app.config.mail.secret),
    API_SERVER: app.config.tokens.issuer,
  })
  const origin = await addressOf(service)
  const post = ({ url, payload, headers = {} }: typeof change | typeof signUp) =>
    fetch(`${origin}${url}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(payload),
    }).then(
      ({ status }) => status,
      () => 'broken',
    )
  await app.database.db.transaction(async (transaction) => {
    await transaction.execute(LOCK)
    // Each has changed the user, and waits to write what it has done.
    const answers = Promise.all([post(change), post(signUp)])
    await expect.poll(() => app.database.db.query(FIND_WAITING)).toHaveLength(2)
    service.process.kill('SIGKILL')
    expect(await answers).toEqual(['broken', 'broken'])
  })
  await expect.poll(() => app.database.db.query(FIND_OPEN)).toEqual([])

  expect(await rowsOf(app)).toEqual(before)
  expect((await logIn(app, change.user.email)).statusCode).toBe(200)
  for (const { url, payload, headers = {} } of [change, signUp]) {
    const answer = await app.server.inject({ method: 'POST', url, payload, headers })
    expect(answer.statusCode, answer.body).toBe(200)
  }
  expect((await logIn(app, change.email)).statusCode).toBe(200)
  expect((await logIn(app, signUp.payload.email)).statusCode).toBe(200)
})

/** The request that confirms a new e-mail. */
async function aChange(app: TestApp) {
  const user = await aUser(app)
  const email = `new-${user.email}`
  const headers = bearer(await aToken(app, user))
  const payload = { email, currentPassword: PASSWORD }
  await app.server.inject({ method: 'PUT', url: '/profile', headers, payload })
  return { user, email, url: '/profile/confirmemail', payload: { code: await codeTo(app, email) }, headers }
}

/** The request that confirms a sign-up. */
async function aSignUp(app: TestApp) {
  const email = 'newcomer@example.com'
  const payload = { email, username: 'newcomer', password: PASSWORD }
  const { token } = (await app.server.inject({ method: 'POST', url: '/signup', payload })).json()
  return { url: '/signup/confirm', payload: { email, token, code: await codeTo(app, email) }, headers: {} }
}

/** How many rows each table has, and the e-mails that are in use. */
async function rowsOf({ database: { db } }: TestApp) {
  const counts = await Promise.all(TABLES.map(async (table) => [table, await countRows(db, table)] as const))
  const users = await db.query<{ email: string }>({
    name: 'kill-users',
    text: 'select email from users order by 1',
  })
  return { ...Object.fromEntries(counts), emails: users.map(({ email }) => email) }
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
