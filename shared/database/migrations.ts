import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Umzug } from 'umzug'
import { findForeignSchema, hasUsersTable } from './adopt.ts'
import type { Database, Dialect } from './database.ts'

/** The folder `migrations/` of this checkout or image. */
const MIGRATIONS_DIR = join(import.meta.dirname, '..', '..', 'migrations')

export interface Migration {
  name: string
  upSql: string
  downSql: string
  /** SHA-256 of `upSql`: what ran must not change afterwards. */
  checksum: string
}

export interface MigrationStatus {
  name: string
  appliedAt: Date | undefined
  /** The tables were there before Latchkey: they were taken over, and `down` will not drop them. */
  adopted: boolean
}

interface Applied {
  name: string
  checksum: string
  adopted: boolean | number
  applied_at: Date
}

const LOCK = 'latchkey_migrations'

const CREATE_RECORD = `create table if not exists latchkey_migrations (
  name varchar(100) not null primary key,
  checksum char(64) not null,
  adopted boolean not null default false,
  applied_at timestamp not null default current_timestamp
);`

const LIST_APPLIED = {
  name: 'migrations-list',
  text: 'select name, checksum, adopted, applied_at from latchkey_migrations order by name',
}
const RECORD = {
  name: 'migrations-record',
  text: 'insert into latchkey_migrations (name, checksum, adopted) values ($1, $2, $3)',
}
const FORGET = { name: 'migrations-forget', text: 'delete from latchkey_migrations where name = $1' }
const FIND_RECORD_TABLE = {
  name: 'migrations-table',
  text: `select 1 as found from information_schema.tables
    where table_schema = current_schema() and table_name = 'latchkey_migrations'`,
  mysql: `select 1 as found from information_schema.tables
    where table_schema = database() and table_name = 'latchkey_migrations'`,
}

/**
 * Stands among the records from before the first migration runs until it is recorded, or failed without a table: who
 * is killed in between has made the tables, and must not find somebody else's there. No migration has this name.
 */
const MAKES_TABLES = '0000_makes_the_tables'

export type Migrator = ReturnType<typeof createMigrator>

/**
 * Runs the numbered migrations of `migrations/<dialect>/` under the database's own lock, so that two at once
 * run each once. A database that already has the specified tables is adopted as it is.
 */
export function createMigrator(db: Database, migrations: readonly Migration[] = readMigrations(db.dialect)) {
  async function readApplied(): Promise<Applied[]> {
    const [found] = await db.query(FIND_RECORD_TABLE)
    return found ? db.query<Applied>(LIST_APPLIED) : []
  }

  async function withUmzug<Result>(work: (umzug: Umzug<object>) => Promise<Result>): Promise<Result> {
    return db.withLock(LOCK, async () => {
      await db.runScript(CREATE_RECORD)
      const applied = await readApplied()
      refuseChanged(migrations, applied)
      const isAdopting = applied.length === 0 && (await adopts(db))
      return work(createUmzug(db, migrations, { applied, isAdopting }))
    })
  }

  return {
    /** Applies what is pending, in order; returns the names. */
    up: () => withUmzug(async (umzug) => (await umzug.up()).map(({ name }) => name)),
    /** Takes back the newest `steps` migrations; returns the names. */
    down: (steps = 1) =>
      withUmzug(async (umzug) => (await umzug.down({ step: steps })).map(({ name }) => name)),
    async status(): Promise<MigrationStatus[]> {
      const applied = new Map((await readApplied()).map((each) => [each.name, each]))
      return migrations.map(({ name }) => ({
        name,
        appliedAt: applied.get(name)?.applied_at,
        adopted: Boolean(applied.get(name)?.adopted),
      }))
    },
  }
}

function createUmzug(
  db: Database,
  migrations: readonly Migration[],
  { applied, isAdopting }: { applied: readonly Applied[]; isAdopting: boolean },
): Umzug<object> {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]))
  const adopted = new Set(applied.filter((each) => each.adopted).map((each) => each.name))
  const isFirst = (name: string) => name === migrations[0]?.name
  return new Umzug({
    migrations: migrations.map(({ name, upSql, downSql }) => ({
      name,
      up: async () => {
        if (isFirst(name) && !isAdopting) await makeTables(db, upSql, applied)
        else await db.runScript(upSql)
      },
      down: async () => {
        if (adopted.has(name))
          throw new Error(`${name} took over tables that were there before; it does not drop them`)
        await db.runScript(downSql)
      },
    })),
    storage: {
      executed: async () => (await db.query<Applied>(LIST_APPLIED)).map((each) => each.name),
      async logMigration({ name }) {
        await db.transaction(async (transaction) => {
          await transaction.execute(RECORD, [
            name,
            byName.get(name)?.checksum ?? '',
            isFirst(name) && isAdopting,
          ])
          await transaction.execute(FORGET, [MAKES_TABLES])
        })
      },
      unlogMigration: async ({ name }) => void (await db.execute(FORGET, [name])),
    },
    context: {},
    logger: undefined,
  })
}

async function makeTables(db: Database, upSql: string, applied: readonly Applied[]): Promise<void> {
  if (applied.length === 0) await db.execute(RECORD, [MAKES_TABLES, '', false])
  try {
    await db.runScript(upSql)
  } catch (error) {
    // It made none: tables that are there next time are somebody else's. MySQL may have stopped half-way, at its own.
    const mayHaveMadeSome = await hasUsersTable(db).catch(() => true)
    if (!mayHaveMadeSome) await db.execute(FORGET, [MAKES_TABLES]).catch(() => undefined)
    throw error
  }
}

/** True when the specified tables are there already; throws when `users` is a table of something else. */
async function adopts(db: Database): Promise<boolean> {
  if (!(await hasUsersTable(db))) return false
  const faults = await findForeignSchema(db)
  if (faults.length === 0) return true
  throw new Error(
    `The database has a table users that is not Latchkey's, and it was left alone: ${faults.join('; ')}`,
  )
}

function refuseChanged(migrations: readonly Migration[], applied: readonly Applied[]): void {
  const checksums = new Map(migrations.map(({ name, checksum }) => [name, checksum]))
  for (const { name, checksum } of applied) {
    const now = checksums.get(name)
    // A newer release may have migrated already: this one runs beside it, and leaves its migrations alone.
    if (now !== undefined && now !== checksum) {
      throw new Error(`Migration ${name} ran with another text than it has now; restore the file as it was`)
    }
  }
}

/** Reads `migrations/<dialect>/NNNN_name.{up,down}.sql` in order. */
export function readMigrations(dialect: Dialect, root: string = MIGRATIONS_DIR): Migration[] {
  const folder = join(root, dialect)
  const names = readdirSync(folder)
    .filter((file) => file.endsWith('.up.sql'))
    .map((file) => file.slice(0, -'.up.sql'.length))
    .sort()
  return names.map((name) => {
    const upSql = readFileSync(join(folder, `${name}.up.sql`), 'utf8').replaceAll('\r\n', '\n')
    const downSql = readFileSync(join(folder, `${name}.down.sql`), 'utf8')
    return { name, upSql, downSql, checksum: createHash('sha256').update(upSql).digest('hex') }
  })
}
