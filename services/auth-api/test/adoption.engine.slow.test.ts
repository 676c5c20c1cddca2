import { OWN_TABLES } from '@latchkey/shared/database/adoption/adoption.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { engine, isCluster, isPostgres, nodeUrls } from '@latchkey/test-support/engine.ts'
import {
  dumpSchema,
  OLDER_SCHEMAS,
  type OlderSchema,
  olderSchema,
} from '@latchkey/test-support/older-schemas.ts'
import { countRows, createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it } from 'vitest'
import { addUser, anOlderDatabase, NAMES, refusalOf } from './support/adoption.ts'
import { bearer, logIn, startApp } from './support/start-app.ts'

/** The problems of a schema, without what stands for each engine's own words. */
const problemsOf = async (db: Database): Promise<string[]> =>
  (await createMigrator(db).inspect()).map(({ problem }) => problem)

describe('tables of another program', () => {
  it.each(Object.keys(OLDER_SCHEMAS) as OlderSchema[])(
    'like %s are as specified after --adopt, and keep their users',
    async (name) => {
      await using database = await anOlderDatabase(name)
      const { db } = database
      await addUser(db, 'ada', 'Ada@example.com')
      expect(await createMigrator(db).up({ adopt: true })).toEqual(NAMES)
      expect(await createMigrator(db).inspect()).toEqual([])
      expect(await createMigrator(db).up({ adopt: true })).toEqual([])
      await using app = await startApp({ database })
      const response = await logIn(app, 'ada@example.com')
      expect(response.statusCode).toBe(200)
      const headers = bearer(response.json().token)
      const payload = { name: 'Ада Лавлейс', language: 'pt' }
      const changed = await app.server.inject({ method: 'PUT', url: '/profile', headers, payload })
      expect(changed.json()).toMatchObject({ ...payload, updated_at: expect.stringContaining('T') })
      await expect(addUser(db, 'ADA', 'other@example.com')).rejects.toThrow()
      expect((await createMigrator(db).status())[0]?.adopted).toBe(true)
    },
  )

  it('are listed with each column that differs', async () => {
    await using latin = await anOlderDatabase('another character set, shorter columns')
    const shared = ['users.updated_at', 'users_property.id has no default', 'users.email has no unique index']
    const expected = isPostgres()
      ? [
          ...[
            'users.name is character',
            'users.email is character',
            'users.username has 15 characters, not 20',
          ],
          ...[
            'users.password can be null',
            'users.created_at is date',
            'users.userid is not the primary key',
          ],
          ...shared.slice(1),
        ]
      : [
          ...(isCluster()
            ? []
            : ['users is stored without transactions', 'users_property is stored without transactions']),
          ...['users.name has 20 characters, not 50', 'users.email has 80 characters, not 120'],
          ...['users.password can be null', 'users.created_at has no default', 'users.updated_at is not set'],
          ...shared,
        ]
    const found = await problemsOf(latin.db)
    for (const problem of expected) expect(found).toContainEqual(expect.stringContaining(problem))
    await using fewer = await anOlderDatabase('fewer columns')
    for (const column of ['role', 'created_at', 'updated_at'])
      expect(await problemsOf(fewer.db)).toContain(`users has no column ${column}`)
  })

  it.each(Object.entries(OWN_TABLES))('may have the name of one of ours: %s', async (table, columns) => {
    await using database = await anOlderDatabase('the specification')
    await database.db.runScript(`create table ${table} (${columns.slice(1).join(' integer, ')} integer)`)
    expect(await problemsOf(database.db)).toEqual([`${table} has no column ${columns[0]}`])
  })

  it('may have further columns, if they need no value', async () => {
    await using database = await anOlderDatabase('the specification')
    const { db } = database
    await db.runScript("alter table users add column hobby varchar(9) not null default 'none'")
    expect(await problemsOf(db)).toEqual([])
    await db.runScript('alter table users add column tenant integer not null')
    expect(await problemsOf(db)).toEqual(['users.tenant is not specified, cannot be null and has no default'])
  })

  it('are refused with the rows that cannot be taken over', async () => {
    await using database = await anOlderDatabase('another character set, shorter columns')
    const { db } = database
    for (const name of ['ok', 'ghost', 'empty', 'bell\u0007', 'zero', 'long'])
      await addUser(db, name, `${name.slice(0, 4)}@example.com`)
    const newDate = isPostgres() ? "'2026-01-01'" : "'0000-00-00'"
    await db.runScript(`
      update users set password = null where username = 'ghost';
      update users set password = '' where username in ('empty', 'bell\u0007');
      ${isPostgres() ? '' : "set sql_mode = '';"}
      update users set created_at = ${newDate} where username = 'zero';`)
    const listed = Object.fromEntries(
      (await createMigrator(db).inspect()).flatMap(({ problem, examples }) =>
        examples ? [[problem, examples]] : [],
      ),
    )
    expect(listed).toEqual({
      'users.password is null for': ['"ghost"'],
      'users.password is empty for': ['"bell\\x07"', '"empty"'],
      ...(isPostgres() ? {} : { 'users.created_at is not a date for': ['"zero"'] }),
    })
    const refusal = await refusalOf(db, () => createMigrator(db).up({ adopt: true }))
    expect(refusal).toContain("update users set password = '!' where password = '';")
    await db.runScript(`
      delete from users where username = 'ghost';
      update users set password = '!' where password = '';
      ${isPostgres() ? '' : "set sql_mode = '';"}
      update users set created_at = null where username = 'zero';`)
    expect(await createMigrator(db).up({ adopt: true })).toEqual(NAMES)
  })

  it.runIf(engine() === 'galera')('whose rows are on one node only are refused, and unchanged', async () => {
    await using database = await createEmptyDatabase()
    const { db } = database
    await db.runScript(OLDER_SCHEMAS['another character set, shorter columns'].mysql)
    await addUser(db, 'ada', 'ada@example.com')
    const refusal = await refusalOf(db, () => createMigrator(db).up({ adopt: true }))
    expect(refusal).toContain(
      'users is stored without transactions\n  Its rows are on the node that wrote them',
    )
    await db.runScript(`create table copied like users; alter table copied engine = InnoDB;
      insert into copied select * from users; rename table users to old_users, copied to users;
      drop table old_users; alter table users_property engine = InnoDB`)
    expect(await createMigrator(db).up({ adopt: true })).toEqual(NAMES)
    for (const url of await nodeUrls()) {
      const node = await openDatabase(
        Object.assign(new URL(url), { pathname: new URL(database.url).pathname }).href,
      )
      expect(await countRows(node, "users where username = 'ada'"), url).toBe(1)
      await node.close()
    }
  })

  it('list ten of the rows at most, and those whose names a migration would cut', async () => {
    await using database = await anOlderDatabase('fewer columns')
    const { db } = database
    for (let at = 0; at < 11; at++) await addUser(db, `${'long'.repeat(6)}${at}`, `${at}@example.com`)
    const [fault] = (await createMigrator(db).inspect()).filter(({ examples }) => examples)
    if (isPostgres()) return expect(fault, 'nothing is cut').toBeUndefined()
    expect(fault?.problem).toBe('users.username is longer than 20 characters for')
    expect(fault?.examples).toHaveLength(11)
    expect(fault?.examples?.at(-1)).toBe('and more')
  })

  it('keep the defaults that the other program relies on', async () => {
    await using database = await anOlderDatabase('another character set, shorter columns')
    const { db } = database
    await createMigrator(db).up({ adopt: true })
    await addUser(db, 'ada', 'ada@example.com')
    expect(await db.query({ name: 'test-role', text: 'select role from users' })).toEqual([{ role: 'user' }])
    if (!isPostgres()) expect(await dumpSchema(db)).toContain("it's a role")
  })

  const uuid = () => (isPostgres() ? 'uuid' : 'binary(16)')
  it.each([
    {
      what: 'of another product',
      sql: () => 'create table users (id integer primary key, nick varchar(20))',
      says: ['users has no column userid', 'users has no column password'],
    },
    {
      what: 'with integers as ids',
      sql: () => `create table users (
        userid integer primary key, email varchar(120), username varchar(20) not null, password char(40) not null
      )`,
      says: ['users.userid is int'],
    },
    {
      what: 'that are views',
      sql: () => `${olderSchema('fewer columns').replaceAll('table users', 'table people')}
        create view users as select * from people;`,
      says: ['users is a view'],
    },
    {
      what: 'half there',
      sql: () => `create table users_property (id integer primary key, userid ${uuid()} not null)`,
      says: ['users_property exists without a table users'],
    },
    {
      what: 'beside a table with the name of one of ours',
      sql: () =>
        `${olderSchema('the specification')} create table password_reset (email varchar(50), token text);`,
      says: ['password_reset has no column id, userid'],
    },
    {
      what: 'without a password for a user',
      sql: () => `${olderSchema('another character set, shorter columns')}
        insert into users (userid, username, password) values (${isPostgres() ? 'gen_random_uuid()' : "'0123456789abcdef'"}, 'ghost', null);`,
      says: ['users.password is null for:\n  "ghost"'],
    },
  ])('$what are refused with a list, and unchanged', async ({ sql, says }) => {
    await using database = await createEmptyDatabase()
    const { db } = database
    await db.runScript(sql())
    for (const adopt of [false, true]) {
      const refusal = await refusalOf(db, () => createMigrator(db).up({ adopt }))
      for (const words of says) expect(refusal).toContain(words)
    }
  })

  it('that the user of the database may not change are unchanged', async () => {
    await using database = await anOlderDatabase('fewer columns')
    const db = await openDatabase(await lesserUrl(database.db, database.url), { poolSize: 2 })
    try {
      const refusal = await refusalOf(db, () => createMigrator(db).up({ adopt: true }))
      // The lock of a migration on a cluster is a table.
      expect(refusal).toMatch(
        isCluster()
          ? /^CREATE command denied .*latchkey_lock/
          : /^The database cannot be used as it is, and nothing was changed\..*\n.* may not c/,
      )
    } finally {
      await db.close()
    }
  })
})

/** An address at which the rows of the database can be changed, and not its tables. */
async function lesserUrl(db: Database, url: string): Promise<string> {
  const name = new URL(url).pathname.slice(1)
  const reader = Object.assign(new URL(url), { username: `r_${name.slice(-12)}`, password: 'reader' })
  if (!isPostgres()) {
    await db.runScript(`create user ${reader.username} identified by 'reader';
      grant select, insert, update, delete on ${name}.* to ${reader.username};`)
    return reader.href
  }
  await db.runScript(`create role ${reader.username} login password 'reader';
    grant create, usage on schema public to ${reader.username};
    grant select, insert, update, delete on all tables in schema public to ${reader.username};`)
  return reader.href
}
