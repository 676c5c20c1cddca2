import { randomUUID } from 'node:crypto'
import type { Database, SqlValue } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { prepareServiceLogins } from '@latchkey/shared/database/service-logins.ts'
import { createOutboxRepository } from '@latchkey/shared/mail-outbox/outbox-repository.ts'
import { aMailJob } from '@latchkey/shared/mail-queue/test/a-mail-job.ts'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPurge } from '../../mailer-worker/src/purge-expired.ts'
import { isPostgres } from '../../test/support/engine.ts'
import {
  countRows,
  createEmptyDatabase,
  createTestDatabase,
  serviceUrl,
} from '../../test/support/test-database.ts'
import { aUser, startApp } from './support/start-app.ts'

const run = (db: Database, text: string, values: SqlValue[] = []) =>
  db.query({ name: `test-${text.slice(0, 50)}`, text }, values)

async function open(url: string): Promise<Database> {
  const db = await openDatabase(url, { poolSize: 1 })
  onTestFinished(() => db.close())
  return db
}

/** A login that no other test has. */
function loginOn(url: string, password: string = randomUUID()): { user: string; url: string } {
  const user = `test_${randomUUID().slice(0, 8)}`
  return {
    user,
    url: Object.assign(new URL(url), { username: user, password: encodeURIComponent(password) }).href,
  }
}

const OF_OWNER = [
  'delete from latchkey_migrations',
  'create table mine (id integer)',
  'drop table mail_outbox',
]
const OF_SERVER = isPostgres()
  ? [
      "copy users to program 'id'",
      "copy mail_outbox from program 'id'",
      'set role pg_execute_server_program',
      'create role mine',
    ]
  : ['select * from mysql.user', "select 1 into outfile '/tmp/taken'", 'create user mine']

it.each([
  {
    service: 'mailer-worker' as const,
    statements: [
      'select password from users',
      'select email from users',
      "update users set role = 'admin'",
      'select value from users_property',
      'select code_hash from password_reset',
      'update password_reset set attempts = 0',
      'select password_hash from sign_up',
      'select agent from user_session',
      'select data from user_factor',
      'delete from recovery_code',
      "insert into token_revocation (id, revoked_from, expires_at) values ('a', current_timestamp, current_timestamp)",
      'select address from audit_event',
      ...OF_OWNER,
      ...OF_SERVER,
    ],
  },
  {
    service: 'auth-api' as const,
    statements: ['alter table users add column mine integer', ...OF_OWNER, ...OF_SERVER],
  },
])('what has taken over $service cannot run what its job does not need', async ({ service, statements }) => {
  await using app = await startApp()
  await aUser(app)
  const db = await open(serviceUrl(app.database, service))
  for (const sql of statements) await expect(run(db, sql), sql).rejects.toThrow(/denied|must be owner/i)
})

it('mailer-worker does its work with its own rights', async () => {
  await using database = await createTestDatabase()
  const db = await open(serviceUrl(database, 'mailer-worker'))
  const id = randomUUID()
  const now = new Date()
  await createOutboxRepository(database.db).insert(id, aMailJob(), now)
  const outbox = createOutboxRepository(db)
  const due = { before: new Date(Date.now() + 1_000), limit: 10, offset: 0 }
  expect(await outbox.findLeftBehind(due)).toMatchObject([{ id }])
  expect(await outbox.findToRecheck(due)).toEqual([])
  await outbox.findOldest()
  await outbox.findOldestUndispatched()
  expect(await outbox.markDispatched([id], now)).toBe(1)
  expect(await outbox.has(id)).toBe(true)
  expect(await outbox.remove(id)).toBe(true)
  const values = "'a', current_timestamp, '2020-01-01'"
  await run(database.db, `insert into token_revocation (id, revoked_from, expires_at) values (${values})`)
  const purge = createPurge({ db, registry: new Registry(), auditDays: 1, clock: Date.now })
  await purge(new AbortController().signal)
  expect(await countRows(database.db, 'token_revocation')).toBe(0)
})

describe('the logins of the services', () => {
  it('are prepared again without a change, also by an owner who may not create any', async () => {
    await using database = await createTestDatabase()
    const login = loginOn(database.url, "it's a \\ pass%word")
    const prepare = () =>
      prepareServiceLogins(database.db, database.url, { AUTH_API_DATABASE_URL: login.url })
    await prepare()
    await prepare()
    await run(await open(login.url), 'select count(*) from users')
  })

  it('are prepared by several migrations at the same time', async () => {
    await using database = await createTestDatabase()
    const { url } = loginOn(database.url)
    const owners = await Promise.all(Array.from({ length: 8 }, () => open(database.url)))
    const urls = { AUTH_API_DATABASE_URL: url }
    await Promise.all(owners.map((db) => prepareServiceLogins(db, database.url, urls)))
    await run(await open(url), 'select count(*) from users')
  })

  it('are refused with another password than they have, and with a name that is not plain', async () => {
    await using database = await createTestDatabase()
    const login = loginOn(database.url)
    const prepare = (url: string) =>
      prepareServiceLogins(database.db, database.url, { MAILER_WORKER_DATABASE_URL: url })
    await prepare(login.url)
    const wrong = Object.assign(new URL(login.url), { password: 'another' }).href
    await expect(prepare(wrong)).rejects.toThrow(
      /^The login of MAILER_WORKER_DATABASE_URL fails: .*; for a new password, choose a new name$/,
    )
    const odd = Object.assign(new URL(login.url), { username: 'x; drop table users' }).href
    await expect(prepare(odd)).rejects.toThrow('MAILER_WORKER_DATABASE_URL must name a user of')
    await expect(prepare(loginOn(database.url, '').url)).rejects.toThrow(
      'MAILER_WORKER_DATABASE_URL has no password',
    )
  })

  it('have no rights on a table that a migration has dropped', async () => {
    await using database = await createTestDatabase()
    const login = loginOn(database.url)
    const create = { name: '1', upSql: 'create table users (id integer)', downSql: '', checksum: '' }
    const gone = { name: '2', upSql: 'create table gone (id integer)', downSql: '', checksum: '' }
    const urls = { AUTH_API_DATABASE_URL: login.url }
    await prepareServiceLogins(database.db, database.url, urls, [create, gone])
    await run(await open(login.url), 'select count(*) from users')
  })

  it('that the owner may not create are named, with the reason', async () => {
    await using database = await createEmptyDatabase()
    const owner = loginOn(database.url, 'secret')
    await run(
      database.db,
      isPostgres()
        ? `create role ${owner.user} login password 'secret'`
        : `create user ${owner.user} identified by 'secret'`,
    )
    const name = new URL(database.url).pathname.slice(1)
    await run(
      database.db,
      isPostgres()
        ? `grant all on schema public to ${owner.user}`
        : `grant all on ${name}.* to ${owner.user}`,
    )
    const db = await open(owner.url)
    await createMigrator(db).up()
    const service = loginOn(database.url)
    await expect(prepareServiceLogins(db, owner.url, { AUTH_API_DATABASE_URL: service.url })).rejects.toThrow(
      new RegExp(
        `^The login ${service.user} of AUTH_API_DATABASE_URL cannot be prepared: .*(permission|denied).*by hand$`,
        'is',
      ),
    )
    // One owner for all services needs no rights.
    await prepareServiceLogins(db, owner.url, { AUTH_API_DATABASE_URL: owner.url })
  })
})
