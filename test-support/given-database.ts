import type { Database, Statement } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import type { TestDatabase } from './test-database.ts'

/** Opens the one database of the engine `given` and prepares it. The next test does the same. */
export async function openGiven(
  url: string,
  prepare: (db: Database) => Promise<void>,
): Promise<TestDatabase> {
  const db = await openDatabase(url, { poolSize: 12 })
  await prepare(db)
  return { url, db, [Symbol.asyncDispose]: () => db.close() }
}

/** Leaves the tables as the migrations create them, without rows. */
export async function prepareGiven(db: Database): Promise<void> {
  const migrator = createMigrator(db)
  const isMigrated = (await migrator.status()).every(({ appliedAt }) => appliedAt)
  if (!isMigrated) {
    await dropEverything(db)
    await migrator.up()
    return
  }
  const tables = (await listTables(db)).filter((name) => !/^latchkey_(migrations|installation)$/.test(name))
  await db.runScript(
    db.dialect.name === 'mysql'
      ? `set foreign_key_checks = 0; ${tables.map((name) => `delete from \`${name}\``).join(';')}`
      : `truncate ${tables.join(', ')}`,
  )
}

/** Drops all tables, and the functions of tests and migrations. */
export async function dropEverything(db: Database): Promise<void> {
  const tables = await listTables(db)
  if (db.dialect.name === 'mysql') {
    const views = await db.query<{ name: string }>(VIEWS)
    return db.runScript(
      `set foreign_key_checks = 0; ${tables.map((name) => `drop table \`${name}\`;`).join(' ')}
       ${views.map(({ name }) => `drop view \`${name}\`;`).join(' ')}
       drop procedure if exists fail`,
    )
  }
  const drops = [
    ...tables.map((name) => `drop table "${name}" cascade`),
    ...(await listFunctions(db)).map((name) => `drop function "${name}" cascade`),
  ]
  if (drops.length > 0) await db.runScript(drops.join(';'))
  await db.query(END_CONNECTIONS).catch(() => undefined)
}

const VIEWS: Statement = {
  name: 'given-views',
  text: 'select table_name as name from information_schema.views where table_schema = database()',
}

/** A pooler's connections remember statements of the dropped tables: "cached plan must not change result type". */
const END_CONNECTIONS: Statement = {
  name: 'given-end-connections',
  text: `select pg_terminate_backend(pid, 1000) from pg_stat_activity
    where datname = current_database() and usename = current_user order by pid = pg_backend_pid()`,
}

/** Those of an extension stay. */
const FUNCTIONS: Statement = {
  name: 'given-functions',
  text: `select proname as name from pg_proc where pronamespace = current_schema()::regnamespace
    and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')`,
}

export const listFunctions = async (db: Database): Promise<string[]> =>
  db.dialect.name === 'postgres' ? (await db.query<{ name: string }>(FUNCTIONS)).map(({ name }) => name) : []

const TABLES: Statement = {
  name: 'given-tables',
  text: {
    postgres: `select table_name as name from information_schema.tables
      where table_schema = current_schema() and table_type = 'BASE TABLE' order by name`,
    mysql: `select table_name as name from information_schema.tables
      where table_schema = database() and table_type = 'BASE TABLE' order by name`,
  },
}

export const listTables = async (db: Database): Promise<string[]> =>
  (await db.query<{ name: string }>(TABLES)).map(({ name }) => name)
