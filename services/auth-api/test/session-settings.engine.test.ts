import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { Queryable, SqlValue } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { insertRows } from '@latchkey/shared/database/insert-rows.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { CONNECTION_SETTINGS } from '@latchkey/shared/database/mysql/pool.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { createResetRepository } from '@latchkey/shared/users/reset-repository.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { engine, isCluster, isPostgres } from '@latchkey/test-support/engine.ts'
import { ODD_MYSQL, ODD_POSTGRES } from '@latchkey/test-support/servers/odd-settings.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  serviceUrl,
  type TestDatabase,
} from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Claims } from '../src/tokens/claims.ts'
import { createRevocationRepository, sessionIdOf } from '../src/tokens/revocation-repository.ts'
import { aToken, bearer, logIn, startApp, type TestApp } from './support/start-app.ts'

const ID = randomUUID()
const EMAIL = 'ada@example.com'
const CLAIMS = { sub: ID, jti: randomUUID(), sid: randomUUID() } as Claims
const ALL = { before: new Date('2100-01-01'), limit: 1, offset: 0 }

/** MariaDB has words for its switches. */
const asText = (expression: string) =>
  `case concat(${expression}) when 'ON' then '1' when 'OFF' then '0' else ${expression} end`

const readSetting = async (on: Queryable, setting: string): Promise<unknown> => {
  const expression = isPostgres() ? `current_setting('${setting}')` : `@@session.${setting}`
  const statement = {
    name: `test-${setting}`,
    text: `select ${isPostgres() ? expression : asText(expression)} as value`,
  }
  return (await on.query<{ value: unknown }>(statement))[0]?.value
}

/** A proxy that replaces a text of what is sent by one of the same length, as a pooler that drops something. */
async function startRewritingProxy(
  url: string,
  { text, by }: { text: string; by: string },
): Promise<AsyncDisposable & { url: string }> {
  const { hostname, port } = new URL(url)
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    client.on('error', () => server.destroy()).on('close', () => server.destroy())
    server.on('error', () => client.destroy()).pipe(client)
    client.on('data', (sent) =>
      server.write(Buffer.from(sent.toString('latin1').replace(text, by), 'latin1')),
    )
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const through = Object.assign(new URL(url), {
    hostname: '127.0.0.1',
    port: String((proxy.address() as AddressInfo).port),
  })
  return { url: through.href, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() }
}

/** Gives every later session of a PostgreSQL database other settings than those that Latchkey needs. */
const makeOdd = ({ db, url }: TestDatabase, settings: Record<string, string>) =>
  db.runScript(
    Object.entries(settings)
      .map(([name, value]) => `alter database ${new URL(url).pathname.slice(1)} set ${name} = '${value}';`)
      .join(''),
  )

describe.runIf(isPostgres())('a session of PostgreSQL, whatever the database has set', () => {
  let odd: TestDatabase
  beforeAll(async () => {
    odd = await createTestDatabase()
    await makeOdd(odd, ODD_POSTGRES)
  })
  afterAll(() => odd[Symbol.asyncDispose]())

  it.each([
    { setting: 'client_encoding', value: 'UTF8' },
    { setting: 'DateStyle', value: 'ISO, MDY' },
    { setting: 'IntervalStyle', value: 'postgres' },
    { setting: 'TimeZone', value: 'UTC' },
    { setting: 'standard_conforming_strings', value: 'on' },
  ])('has $setting = $value', async ({ setting, value }) => {
    const read = (db: Queryable) => readSetting(db, setting)
    await withDatabase(odd.url, async (db) => {
      expect([await read(db), await db.transaction(read)]).toEqual([value, value])
    })
  })

  it('is read committed, and its commits are durable', async () => {
    await withDatabase(odd.url, async (db) => {
      const isolation = (on: Queryable) => readSetting(on, 'transaction_isolation')
      expect(await db.transaction(isolation)).toBe('read committed')
      // A pooler passes these two on from no client; a statement outside of a transaction is repeated after a conflict.
      if (engine() === 'pgbouncer') return
      expect(await isolation(db)).toBe('read committed')
      expect(await readSetting(db, 'synchronous_commit')).toBe('on')
    })
  })

  it.skipIf(engine() === 'pgbouncer')('is refused by name where it is another one', async () => {
    const isOther = { text: 'ISO,\\ MDY', by: 'German   ' }
    await using pooler = await startRewritingProxy(odd.url, isOther)
    const refused = withDatabase(pooler.url, (db) => db.query({ name: 'test-one', text: 'select 1 as one' }))
    await expect(refused).rejects.toThrow(
      'The session has DateStyle = German, DMY, and Latchkey needs ISO, MDY',
    )
  })

  it('keeps other values of synchronous_commit', async () => {
    const url = new URL(odd.url)
    url.searchParams.set('options', '-c synchronous_commit=remote_apply')
    if (engine() === 'pgbouncer') return
    await withDatabase(url.href, async (db) =>
      expect(await readSetting(db, 'synchronous_commit')).toBe('remote_apply'),
    )
  })
})

describe.skipIf(isPostgres() || isCluster() || engine() === 'given')(
  'a session of MySQL, whatever the server has set',
  () => {
    it('has each setting that Latchkey needs, as a service and in a script', async () => {
      const needed = {
        autocommit: 1,
        completion_type: 'NO_CHAIN',
        sql_mode: 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
        time_zone: '+00:00',
        transaction_isolation: 'REPEATABLE-READ',
        sql_safe_updates: 0,
        sql_select_limit: 18_446_744_073_709_551_615n,
        sql_big_selects: 1,
        sql_auto_is_null: 0,
        foreign_key_checks: 1,
        default_storage_engine: 'InnoDB',
        group_concat_max_len: 65_536,
        character_set_client: 'utf8mb4',
        character_set_results: 'utf8mb4',
        collation_connection: 'utf8mb4_general_ci',
      }
      const names = Object.keys(needed)
      const expected = Object.fromEntries(
        Object.entries(needed).map(([name, value]) => [name, String(value)]),
      )
      const readAll = async (on: Queryable) => {
        const found: Record<string, string> = {}
        for (const name of names) found[name] = String(await readSetting(on, name))
        return found
      }
      await using database = await createTestDatabase()
      await withDatabase(serviceUrl(database, 'auth-api'), async (db) => {
        expect(await readAll(db)).toEqual(expected)
        expect(await db.transaction(readAll)).toEqual(expected)
      })
      const rows = names.map(
        (name) => `insert into scripted select '${name}', ${asText(`@@session.${name}`)};`,
      )
      await database.db.runScript(
        `create table scripted (name varchar(50), value varchar(200)); ${rows.join('')}`,
      )
      const scripted = await database.db.query<{ name: string; value: unknown }>({
        name: 'test-scripted',
        text: 'select name, value from scripted',
      })
      expect(Object.fromEntries(scripted.map(({ name, value }) => [name, String(value)]))).toEqual(expected)
    })

    it('is not used where the server refuses it', async () => {
      await using database = await createTestDatabase()
      await using proxy = await startRewritingProxy(database.url, { text: 'set names', by: 'set nomes' })
      const errors: Error[] = []
      const db = await openDatabase(proxy.url, {
        poolSize: 1,
        onConnectionError: (error) => errors.push(error),
      })
      await expect(db.query({ name: 'test-one', text: 'select 1 as one' })).rejects.toThrow('utf8mb4 collate')
      expect(errors[0]?.message).toContain('utf8mb4 collate')
      await db.close()
    })

    it('is the same in the terminals of scriptify', () => {
      const words = (text: string) => text.replaceAll(/\s+/g, ' ')
      for (const file of ['scriptify.ts', 'scriptify.php']) {
        const source = words(readFileSync(`templates/scriptify/${file}`, 'utf8'))
        for (const statement of CONNECTION_SETTINGS) expect(source, file).toContain(words(statement))
      }
    })
  },
)

/** Expects the behaviour that a server with other settings broke, as a user and an operator see it. */
async function requireThatAccountsEnd(database: TestDatabase): Promise<void> {
  const status = await createMigrator(database.db).status()
  const ages = status.map(({ appliedAt }) => Date.now() - Number(appliedAt))
  expect(
    ages.every((ageMs) => Math.abs(ageMs) < 3_600_000),
    String(ages),
  ).toBe(true)

  await using app = await startApp({ database, settings: {} })
  const ada = await aUser(app, { name: `d\\'Arc "${'é'.repeat(3)}"` })
  const token = await aToken(app, ada)
  const ask = (url: string) => app.server.inject({ url, headers: bearer(token) })
  expect((await ask('/profile')).json()).toMatchObject({ name: `d\\'Arc "ééé"` })
  expect((await ask('/sessions')).json().sessions).toHaveLength(1)
  await app.server.inject({ method: 'POST', url: '/logout', headers: bearer(token) })
  await expectRefused(app, token)

  const other = await aToken(app, ada)
  await app.users.softDelete(ada.userid)
  await expectRefused(app, other)
  expect((await logIn(app, ada.email)).statusCode).toBe(401)
}

/** Another replica, which has seen nothing of this token. */
async function expectRefused({ database, config }: TestApp, token: string): Promise<void> {
  const settings = { JWT_SECRET: Buffer.from(config.tokens.secret).toString('base64') }
  await using replica = await startApp({ database, settings })
  const { statusCode } = await replica.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })
  expect(statusCode).toBe(401)
}

describe('a token after a log-out, and a deleted user, are refused', () => {
  it.runIf(isPostgres()).each([ODD_POSTGRES, { datestyle: 'SQL, DMY' }, { datestyle: 'Postgres, MDY' }])(
    'where the database has %o',
    async (settings) => {
      await using database = await createEmptyDatabase()
      await makeOdd(database, settings)
      const db = await openDatabase(database.url, { poolSize: 4 })
      await createMigrator(db).up()
      await requireThatAccountsEnd({ ...database, db })
      await db.close()
    },
  )

  it.skipIf(isPostgres())(
    `where the server has ${Object.keys(ODD_MYSQL).join(', ')} of its own`,
    async () => {
      await using database = await createTestDatabase()
      await requireThatAccountsEnd(database)
    },
  )
})

/** Columns in which null means that something is allowed. */
const TIMES = [
  { table: 'users', column: 'deleted_at', read: (db: Queryable) => createUserRepository(db).findById(ID) },
  {
    table: 'token_revocation',
    column: 'revoked_from',
    read: (db: Queryable) => createRevocationRepository(db).findStatus(CLAIMS),
  },
  {
    table: 'user_factor',
    column: 'confirmed_at',
    read: (db: Queryable) => createFactorRepository(db).find(ID),
  },
  {
    table: 'password_reset',
    column: 'used_at',
    read: (db: Queryable) => createResetRepository(db).find(EMAIL),
  },
  {
    table: 'mail_outbox',
    column: 'dispatched_at',
    read: (db: Queryable) => createOutboxRepository(db).findToRecheck(ALL),
  },
]

describe('a time that cannot be read is an error, not a time that is not set', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
    const { db } = database
    const [id, now] = [db.toUuidValue(ID), new Date()]
    const insert = (table: string, row: Record<string, SqlValue>) =>
      insertRows(db, table, Object.keys(row), [Object.values(row)])
    await insert('users', { userid: id, username: 'ada', email: EMAIL, password: 'x', deleted_at: now })
    await insert('token_revocation', { id: sessionIdOf(CLAIMS), revoked_from: now, expires_at: now })
    await insert('user_factor', {
      id,
      userid: id,
      kind: 'totp',
      data: 'x',
      created_at: now,
      confirmed_at: now,
    })
    const hashes = { token_hash: 'x', code_hash: 'x' }
    await insert('password_reset', { id, userid: id, email: EMAIL, ...hashes, expires_at: now, used_at: now })
    await insert('mail_outbox', { id, payload: 'x', expires_at: now, dispatched_at: now })
  })
  afterAll(() => database[Symbol.asyncDispose]())

  it.each(TIMES)('of $column in $table', async ({ table, column, read }) => {
    const { db } = database
    await expect(read(db)).resolves.toBeDefined()
    if (isPostgres()) {
      // As in a session that a pooler has shared.
      for (const style of ['German', 'SQL', 'Postgres'])
        await db.transaction(async (transaction) => {
          await transaction.query({ name: `test-${style}`, text: `set local datestyle = ${style}` })
          await expect(read(transaction).catch(String), style).resolves.toMatch(
            /^Error: The time in the column/,
          )
        })
      return
    }
    await db.runScript(`set sql_mode = ''; update ${table} set ${column} = '0000-00-00'`)
    const refusal = new RegExp(`^Error: The time in the column \\S*${column} cannot be read: `)
    const answer = await read(db).catch(String)
    await db.runScript(`update ${table} set ${column} = current_timestamp`)
    expect(answer).toMatch(refusal)
  })
})
