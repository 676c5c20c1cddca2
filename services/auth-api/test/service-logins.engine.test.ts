import { randomBytes, randomUUID } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database, SqlValue } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { insertRows } from '@latchkey/shared/database/insert-rows.ts'
import { readMigrations } from '@latchkey/shared/database/migration-files.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { prepareServiceLogins } from '@latchkey/shared/database/service-logins.ts'
import { rootReason } from '@latchkey/shared/errors/root-reason.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { aMailJob } from '@latchkey/shared/mail/queue/test/a-mail-job.ts'
import { createPurge } from '@latchkey/shared/maintenance/purge-expired.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import {
  countRows,
  createEmptyDatabase,
  createTestDatabase,
  serviceUrl,
  type TestDatabase,
} from '@latchkey/test-support/test-database.ts'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startApp } from './support/start-app.ts'

const run = (db: Database, text: string, values: SqlValue[] = []) =>
  db.query({ name: `test-${text.slice(0, 50)}`, text }, values)

const ROOT = join(import.meta.dirname, '../../..')

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

it.each(['mailer-worker', 'auth-api'] as const)(
  'what has taken over %s cannot change tables, logins or the server',
  async (service) => {
    await using app = await startApp()
    await aUser(app)
    const db = await open(serviceUrl(app.database, service))
    for (const sql of [...OF_OWNER, ...OF_SERVER])
      await expect(run(db, sql), sql).rejects.toThrow(/denied|must be owner/i)
  },
)

const OF_BOTH = ['select latchkey_migrations', 'select latchkey_installation']

describe('on each table, each right that is not needed is refused', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  it('to auth-api, whose login also runs the admin commands', async () => {
    const relations = await listRelations(database.db)
    const needed = relations.filter(({ name }) => !/^(latchkey|expired)_/.test(name)).flatMap(findUses)
    expect(needed.length).toBeGreaterThan(30)
    const allowed = await listAllowed(await open(serviceUrl(database, 'auth-api')), relations)
    expect(allowed).toEqual([...OF_BOTH, ...needed].toSorted())
  })

  it('to mailer-worker', async () => {
    const relations = await listRelations(database.db)
    const views = relations
      .map(({ name }) => name)
      .filter((name) => name.startsWith('expired_') && name !== 'expired_audit_person')
    expect(views).toHaveLength(8)
    const needed = [
      ...OF_BOTH,
      ...['select', 'update', 'delete'].map((right) => `${right} mail_outbox`),
      ...['select', 'update'].map((right) => `${right} expired_audit_person`),
      ...views.flatMap((view) => [`select ${view}`, `delete ${view}`]),
    ]
    const allowed = await listAllowed(await open(serviceUrl(database, 'mailer-worker')), relations)
    expect(allowed).toEqual(needed.toSorted())
  })
})

interface Relation {
  name: string
  /** A column into which a statement may insert. */
  column: string
}

/** Tables and views; a cluster has one more, for the lock of its owner. */
const listRelations = async (db: Database): Promise<Relation[]> => {
  const rows = await run(
    db,
    `select table_name as name, max(column_name) as "column" from information_schema.columns
      where table_schema = ${isPostgres() ? 'current_schema()' : 'database()'} and column_name <> 'id'
        and table_name <> 'latchkey_lock' group by table_name`,
  )
  return rows as Relation[]
}

/** Each right as a statement that needs no other one, and changes nothing. */
const PROBES: readonly [right: string, sql: (relation: Relation) => string][] = [
  ['select', ({ name }) => `select count(*) from ${name}`],
  ['insert', ({ name, column }) => `insert into ${name} (${column}) select null where 1 = 0`],
  ['update', ({ name, column }) => `update ${name} set ${column} = null where 1 = 0`],
  ['delete', ({ name }) => `delete from ${name} where 1 = 0`],
]

/** Lists the rights of a login, such as `select users`. */
async function listAllowed(db: Database, relations: readonly Relation[]): Promise<string[]> {
  const allowed: string[] = []
  for (const relation of relations)
    for (const [right, sql] of PROBES) {
      // A right is missing only where the statement is denied: it may fail for another reason.
      const failure: unknown = await run(db, sql(relation)).catch((error) => error)
      if (!/denied/.test(rootReason(failure))) allowed.push(`${right} ${relation.name}`)
    }
  return allowed.toSorted()
}

/** The SQL of auth-api and of the admin commands. */
const SOURCE = ['shared', 'services/auth-api/src', 'admin']
  .flatMap((folder) =>
    globSync('**/*.ts', {
      cwd: join(ROOT, folder),
      exclude: (name) => /^(test|node_modules)$|\.test\.ts$/.test(name),
    }).map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
  )
  .join('\n')

/** The rights on a table that a statement of the source uses. */
function findUses({ name }: Relation): string[] {
  const uses: Record<string, string> = {
    select: `(from|join) ${name}\\b`,
    insert: `insert into ${name}\\b|insertRows\\(\\w+, '${name}'`,
    update: `update ${name}\\b|insert into ${name}\\b[^\`]*(do update|on duplicate key update)`,
    delete: `delete from ${name}\\b`,
  }
  return Object.keys(uses)
    .filter((right) => new RegExp(uses[right] ?? '').test(SOURCE))
    .map((right) => `${right} ${name}`)
}

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
})

describe('mailer-worker deletes rows whose time is over, and no other', () => {
  const HOUR_MS = 3_600_000
  const TABLES = [
    'password_reset',
    'email_change',
    'sign_up',
    'identity_login',
    'mailed_code',
    'user_session',
    'token_revocation',
    'audit_event',
  ]
  /** Adds to each table a row whose time has come, one whose time has not, and one in between where there is a difference. */
  async function addRows({ db }: TestDatabase): Promise<void> {
    const now = Date.now()
    const times = (overMs: number) =>
      [now - overMs - HOUR_MS, now - overMs + HOUR_MS / 2].map((at) => new Date(at))
    const hash = () => randomBytes(32).toString('hex')
    const uuid = () => db.toUuidValue(randomUUID())
    const insert = (table: string, row: Record<string, SqlValue>) =>
      insertRows(db, table, Object.keys(row), [Object.values(row)])
    for (const at of times(0)) {
      const code = { code_hash: hash(), expires_at: at }
      const who = { email: 'ada@example.com' }
      await insert('password_reset', { id: uuid(), ...who, ...code, token_hash: hash() })
      await insert('email_change', { id: uuid(), ...who, ...code, userid: uuid() })
      const signUp = {
        email_key: who.email,
        username: 'ada',
        language: 'en',
        password_hash: 'x',
        token_hash: hash(),
      }
      await insert('sign_up', { id: uuid(), ...who, ...code, ...signUp })
      await insert('identity_login', { id: uuid(), ...code, token_hash: hash(), content: 'sealed' })
      await insert('mailed_code', { id: uuid(), ...who, ...code, purpose: 'login', token_hash: hash() })
      const dates = { created_at: at, refreshed_at: at, expires_at: at }
      const session = { id: hash(), userid: uuid(), jti: 'x', valid_from: 0, address: '192.0.2.1', agent: '' }
      await insert('user_session', { ...session, ...dates })
    }
    for (const at of times(HOUR_MS))
      await insert('token_revocation', { id: hash(), revoked_from: at, expires_at: at })
    for (const at of times(24 * HOUR_MS))
      await insert('audit_event', { name: 'login.refused', created_at: at })
  }
  const countAll = async ({ db }: TestDatabase) =>
    Object.fromEntries(await Promise.all(TABLES.map(async (table) => [table, await countRows(db, table)])))
  const one = Object.fromEntries(TABLES.map((table) => [table, 1]))

  it('by its purge, whatever its own clock says', async () => {
    await using database = await createTestDatabase()
    await addRows(database)
    const db = await open(serviceUrl(database, 'mailer-worker'))
    const localNow = () => Date.now() + 10 * 365 * 24 * HOUR_MS
    const purge = createPurge({ db, registry: new Registry(), auditDays: 1, localNow })
    await purge(new AbortController().signal)
    expect(await countAll(database)).toEqual(one)
  })

  it('by any statement, whatever its session says', async () => {
    await using database = await createTestDatabase()
    await addRows(database)
    const url = serviceUrl(database, 'mailer-worker')
    const shifts = isPostgres()
      ? ["TimeZone = 'UTC-14'", "TimeZone = 'UTC+14'", "DateStyle = 'German'"]
      : [
          "time_zone = '+13:00'",
          "time_zone = '-12:00'",
          'timestamp = unix_timestamp() + 36000',
          "sql_mode = 'ANSI'",
        ]
    const db = await open(url)
    for (const shift of shifts)
      for (const table of TABLES) {
        const settle = `set ${isPostgres() ? 'local ' : ''}${shift}`
        const script = `begin; ${settle}; delete from expired_${table}; commit`
        await db.runScript(script)
      }
    expect(await countAll(database)).toEqual(one)
  })
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
      /^The login of MAILER_WORKER_DATABASE_URL fails: .*; for a new password, choose a new name, as deploy\/rotate-secret\.sh /,
    )
    const odd = Object.assign(new URL(login.url), { username: 'x; drop table users' }).href
    await expect(prepare(odd)).rejects.toThrow('MAILER_WORKER_DATABASE_URL must name a user of')
    await expect(prepare(loginOn(database.url, '').url)).rejects.toThrow(
      'MAILER_WORKER_DATABASE_URL has no password',
    )
  })

  it('lose what an earlier version has granted and none of their statements needs', async () => {
    await using database = await createTestDatabase()
    const { user, url } = loginOn(database.url)
    const urls = { MAILER_WORKER_DATABASE_URL: url }
    await prepareServiceLogins(database.db, database.url, urls)
    await database.db.runScript(
      `grant select (id, expires_at), delete on token_revocation to ${user};
      grant select, insert, update, delete on audit_event to ${user};`,
    )
    await prepareServiceLogins(database.db, database.url, urls)
    const relations = await listRelations(database.db)
    const db = await open(url)
    const ofTables = relations.filter(({ name }) => /^(token_revocation|audit_event)$/.test(name))
    expect(await listAllowed(db, ofTables)).toEqual([])
    await expect(run(db, 'select id from token_revocation')).rejects.toThrow(/denied/)
  })

  it('have the rights of both services where these share one', async () => {
    await using database = await createTestDatabase()
    const { url } = loginOn(database.url)
    const urls = { AUTH_API_DATABASE_URL: url, MAILER_WORKER_DATABASE_URL: url }
    await prepareServiceLogins(database.db, database.url, urls)
    const db = await open(url)
    await run(db, 'select count(*) from users')
    await run(db, 'delete from expired_sign_up')
  })

  it('have every right on the tables of extensions in auth-api, and none in mailer-worker', async () => {
    await using database = await createTestDatabase()
    const [ofApi, ofWorker] = [loginOn(database.url), loginOn(database.url)]
    await database.db.runScript('create table notes (id integer, note varchar(10))')
    const notes = { name: 'notes/0001', upSql: 'create table notes (id integer)', downSql: '', checksum: '' }
    const urls = { AUTH_API_DATABASE_URL: ofApi.url, MAILER_WORKER_DATABASE_URL: ofWorker.url }
    await prepareServiceLogins(database.db, database.url, urls, [notes])
    const relations = [{ name: 'notes', column: 'note' }]
    const all = ['delete', 'insert', 'select', 'update'].map((right) => `${right} notes`)
    expect(await listAllowed(await open(ofApi.url), relations)).toEqual(all)
    expect(await listAllowed(await open(ofWorker.url), relations)).toEqual([])
  })

  it.skipIf(isPostgres())(
    'delete expired rows also after the owner of the tables has got another name',
    async () => {
      await using database = await createTestDatabase()
      const former = loginOn(database.url, 'secret')
      const name = new URL(database.url).pathname.slice(1)
      await database.db.runScript(
        `create user ${former.user} identified by 'secret'; grant all on ${name}.* to ${former.user};`,
      )
      const views = readMigrations('mysql').filter(({ upSql }) => upSql.includes('sql security definer view'))
      const owner = await open(former.url)
      for (const { upSql } of views) await owner.runScript(upSql)
      await database.db.runScript(`drop user ${former.user}`)
      // Another node of a cluster knows users and views of before for a moment.
      const { host } = new URL(database.url)
      const db = await open(Object.assign(new URL(serviceUrl(database, 'mailer-worker')), { host }).href)
      const expired = ['expired_sign_up', 'expired_identity_login']
      for (const view of expired) await expect(run(db, `delete from ${view}`)).rejects.toThrow()
      await prepareServiceLogins(database.db, database.url, {})
      for (const view of expired) await run(db, `delete from ${view}`)
    },
  )

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
