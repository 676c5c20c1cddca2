import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createPurge } from '@latchkey/shared/maintenance/purge-expired.ts'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, serviceUrl, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { codeAt, factorSettings } from '../../services/auth-api/test/support/factors.ts'
import { bearer, codeTo, startApp } from '../../services/auth-api/test/support/start-app.ts'
import { banAccount } from '../accounts/ban-account.ts'
import { deleteAccount, restoreAccount } from '../accounts/change-account.ts'
import { eraseAccount } from '../accounts/erase-account.ts'
import type { AdminContext } from '../admin-context.ts'

/** Everything that the tests store about the person contains one of these. */
const MARKS = ['zelda', 'Zelda', '198.51.100.77']
const NAME = 'Zelda'
const EMAIL = 'zelda@example.com'
/** Another mailbox, which collations of MySQL take for the same text. */
const NEIGHBOUR = 'zeldá@example.com'

let database: TestDatabase
let context: AdminContext
beforeAll(async () => {
  database = await createTestDatabase()
  context = {
    db: database.db,
    policy: DEFAULT_POLICY,
    hashPassword: async (password) => password,
    acceptedSchemes: ['sha1'],
    localNow: Date.now,
    notify: async () => undefined,
  }
})
afterAll(() => database[Symbol.asyncDispose]())

interface Column {
  table: string
  column: string
  type: string
}

let asked = 0
const query = (db: Database, text: string) =>
  db.query<Record<string, unknown>>({ name: `test-${++asked}`, text })

/** Every column of every table of Latchkey. */
async function listColumns(db: Database): Promise<Column[]> {
  const schema = db.dialect.name === 'mysql' ? 'database()' : 'current_schema()'
  const rows = await query(
    db,
    `select c.table_name as t, c.column_name as c, c.data_type as d from information_schema.columns c
      join information_schema.tables b on b.table_name = c.table_name and b.table_schema = c.table_schema
      where c.table_schema = ${schema} and b.table_type = 'BASE TABLE'`,
  )
  return rows.map(({ t, c, d }) => ({ table: String(t), column: String(c), type: String(d) }))
}

/** The columns that have a mark in their text. */
async function findMarks(db: Database): Promise<string[]> {
  const texts = (await listColumns(db)).filter(({ type }) => /char|text|json/.test(type))
  expect(texts.length).toBeGreaterThan(30)
  const found: string[] = []
  for (const { table, column } of texts) {
    const conditions = MARKS.map((mark) =>
      db.dialect.name === 'mysql'
        ? `instr(cast(${column} as binary), cast('${mark}' as binary)) > 0`
        : `position('${mark}' in ${column}::text) > 0`,
    )
    const rows = await query(db, `select 1 as found from ${table} where ${conditions.join(' or ')} limit 1`)
    if (rows.length > 0) found.push(`${table}.${column}`)
  }
  return found.toSorted()
}

/** The tables that have a row of the user. */
async function findRows(db: Database, userid: string): Promise<string[]> {
  const found: string[] = []
  for (const { table } of (await listColumns(db)).filter(({ column }) => column === 'userid')) {
    const text = `select 1 as found from ${table} where userid = $1 limit 1`
    const rows = await db.query({ name: `test-rows-${table}`, text }, [db.toUuidValue(userid)])
    if (rows.length > 0) found.push(table)
  }
  return found.toSorted()
}

/** Stores something about the person in every table that can have it, as requests do. */
async function liveALittle(user: TestUser): Promise<void> {
  const settings = { LOGIN_BY_MAIL: 'on', SIGN_UP: 'on', EMAIL_CHANGE: 'confirmed', PROFILE_PROPERTIES: '*' }
  await using app = await startApp({ database, settings: factorSettings(settings) })
  const send = async (method: 'POST' | 'PUT', url: string, payload: object, token?: string) => {
    const headers = { 'user-agent': 'zelda-browser', ...(token && bearer(token)) }
    const response = await app.server.inject({
      method,
      url,
      payload,
      headers,
      remoteAddress: '198.51.100.77',
    })
    expect(response.statusCode, `${url}: ${response.body}`).toBeLessThan(300)
    return response.json()
  }
  const { token: first } = await send('POST', '/login', {
    username: EMAIL,
    password: PASSWORD,
    remember: true,
  })
  await send('PUT', '/profile', { name: NAME, metadata: { nick: 'zelda' } }, first)
  const identity = { userid: user.userid, provider: 'google', subject: 'zelda-1', email: EMAIL }
  await createIdentityRepository(database.db).insert(identity, new Date())
  await app.users.setProperty(user.userid, 'picture', 'https://example.com/zelda.png')
  const { secret } = await send(
    'POST',
    '/profile/factors/totp',
    { current_password: PASSWORD, name: 'zelda phone' },
    first,
  )
  const code = codeAt(secret, Date.now())
  const { token } = await send('POST', '/profile/factors/totp/confirm', { code }, first)
  await send('PUT', '/profile', { email: 'new-zelda@example.com', current_password: PASSWORD }, token)
  await send('POST', '/login/resetrequest', { email: EMAIL })
  await send('POST', '/login/code', { email: EMAIL })
  // These events are of nobody: their requests name no user.
  const sendAlone = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
  const signUp = { email: EMAIL.toUpperCase(), username: 'zelda-2', password: PASSWORD, name: NAME }
  expect((await sendAlone('/signup', signUp)).statusCode).toBe(202)
  expect((await sendAlone('/login/resetrequest', { email: NEIGHBOUR })).statusCode).toBe(200)
}

it('leaves nothing of the person in any table, and lets the address sign up again', async () => {
  const { db } = database
  const user = await aUser(
    { users: createUserRepository(db) },
    { username: 'zelda', email: EMAIL, name: NAME },
  )
  const neighbour = await aUser({ users: createUserRepository(db) }, { email: NEIGHBOUR })
  await liveALittle(user)
  await banAccount(context, 'zelda', { until: '', reason: 'zelda wrote spam' })
  const rows = await findRows(db, user.userid)
  expect(rows, 'a new table with a userid belongs into `liveALittle` and `eraseUser`').toEqual(
    (await listColumns(db))
      .filter(({ table, column }) => column === 'userid' && table !== 'user_erasure')
      .map(({ table }) => table)
      .toSorted(),
  )
  const marks = await findMarks(db)
  expect(marks).toEqual(
    expect.arrayContaining([
      'audit_event.address',
      'audit_event.reason',
      'email_change.email',
      'mail_outbox.payload',
      'mailed_code.email',
      'password_reset.email',
      'sign_up.email_key',
      'user_factor.name',
      'user_metadata.metadata',
      'user_session.agent',
      'users.email',
      'users.name',
      'users.username',
      'users_property.value',
    ]),
  )

  await eraseAccount(context, 'zelda')
  const worker = await openDatabase(serviceUrl(database, 'mailer-worker'), { poolSize: 2 })
  const purge = createPurge({ db: worker, registry: new Registry(), auditDays: 90, localNow: Date.now })
  await purge(new AbortController().signal)
  await worker.close()
  expect(await findMarks(db)).toEqual([])
  expect(await createUserRepository(db).findById(neighbour.userid)).toMatchObject({ email: NEIGHBOUR })
  const mails = await query(db, 'select payload from mail_outbox')
  expect(mails.filter(({ payload }) => String(payload).includes(NEIGHBOUR))).toHaveLength(1)
  expect(await findRows(db, user.userid)).toEqual(['user_erasure', 'users'])
  const events = await query(db, 'select name, reason from audit_event where userid is null')
  expect(events.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['login.succeeded', 'factor.added', 'account.banned', 'account.erased']),
  )
  expect(events.find(({ name }) => name === 'factor.added')).toMatchObject({ reason: 'totp' })

  await using app = await startApp({ database, settings: { SIGN_UP: 'on' } })
  const post = async (url: string, payload: object) =>
    (await app.server.inject({ method: 'POST', url, payload })).json()
  const { token } = await post('/signup', { email: EMAIL, username: 'zelda', password: PASSWORD })
  const confirmation = { email: EMAIL, token, code: await codeTo(app, EMAIL, 'sign-up') }
  expect(await post('/signup/confirm', confirmation)).toMatchObject({ token: expect.any(String) })
  expect(await createUserRepository(db).findByLogin('email', EMAIL)).not.toMatchObject({
    userid: user.userid,
  })
})

it('cannot be done twice, reverted, or done to the last admin', async () => {
  const users = createUserRepository(database.db)
  const user = await aUser({ users })
  await deleteAccount(context, user.email)
  const { userid } = await eraseAccount(context, user.email)
  for (const again of [eraseAccount, restoreAccount])
    await expect(again(context, userid)).rejects.toThrow(`${userid} was erased at`)
  await expect(eraseAccount(context, user.email)).rejects.toThrow('No user has the username')
  const [admin] = [await aUser({ users }, { role: 'admin' })]
  await expect(eraseAccount(context, admin.email)).rejects.toThrow('the last user with the role admin')
  expect(await users.findById(admin.userid)).toMatchObject({ email: admin.email })
  await aUser({ users }, { role: 'admin' })
  await eraseAccount(context, admin.email)
  expect(await users.findById(admin.userid)).toMatchObject({ email: null })
})
