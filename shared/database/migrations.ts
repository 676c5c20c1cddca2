import type { Umzug } from 'umzug'
import { errorMessage } from '../error-message.ts'
import { chooseFixes, findSharedAccounts } from './adopt.ts'
import type { Difference } from './adoption/difference.ts'
import { inspectDatabase } from './adoption/inspect-database.ts'
import { readSchema } from './adoption/read-schema.ts'
import type { Database, Queryable, Statement } from './database.ts'
import { type Migration, readAllMigrations } from './migration-files.ts'

export interface MigrationStatus {
  name: string
  appliedAt: Date | undefined
  /** The tables existed before Latchkey; `down` does not drop them. */
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
const FIND_RECORD_TABLE: Statement = {
  name: 'migrations-table',
  text: ({ columns }) => `select 1 as found from (${columns}) as columns_of_schema
    where table_name = 'latchkey_migrations' limit 1`,
}

/**
 * A record that exists from before the first migration runs until it is recorded, or has failed without creating a
 * table. After a kill in between, it distinguishes Latchkey's own tables from tables to adopt. No migration has this name.
 */
const CREATES_TABLES = '0000_makes_the_tables'

export type Migrator = ReturnType<typeof createMigrator>

/**
 * Runs the numbered migrations of `migrations/<dialect>/`, then those of each extension, under the database's own lock,
 * so that two runs at the same time apply each migration once. A database that already has the specified tables is
 * adopted.
 */
export function createMigrator(
  db: Database,
  migrations: readonly Migration[] = readAllMigrations(db.dialect.name),
) {
  async function readApplied(): Promise<Applied[]> {
    const [found] = await db.query(FIND_RECORD_TABLE)
    return found ? db.query<Applied>(LIST_APPLIED) : []
  }

  const inspect = async (applied: readonly Applied[]): Promise<Difference[]> =>
    inspectDatabase(db, new Set(applied.map(({ name }) => name)))

  const withLock = <Result>(work: (applied: Applied[]) => Promise<Result>): Promise<Result> =>
    db.withLock(LOCK, async () => {
      const applied = await readApplied()
      refuseChanged(migrations, applied)
      return work(applied)
    })

  /** Removes what `adopt` allows; throws, before anything is changed, where something blocks. */
  async function makeUsable(applied: readonly Applied[], { adopt, isAdopting }: Adopting): Promise<void> {
    const fixes = chooseFixes(await inspect(applied), adopt)
    if (isAdopting || fixes.length > 0) await requireRights(db)
    // Each is a statement of its own: MySQL commits DDL by itself. A second run continues where the first has ended.
    for (const { sql = '' } of fixes) await db.runScript(sql)
    if (fixes.length > 0) chooseFixes(await inspect(applied), false)
  }

  return {
    /**
     * Applies the pending migrations in order; returns their names. With `adopt`, first brings tables of another program
     * to the specification.
     */
    up: ({ adopt = false } = {}) =>
      withLock(async (applied) => {
        const isAdopting = applied.length === 0 && (await hasUsersTable(db))
        if (isAdopting && !db.dialect.adoption) throw new Error(NO_ADOPTION)
        await makeUsable(applied, { adopt, isAdopting })
        await db.runScript(CREATE_RECORD)
        const umzug = await createUmzug(db, migrations, { applied, isAdopting })
        const ran = await umzug.up()
        return ran.map(({ name }) => name)
      }),
    /** Reverts the newest `steps` migrations; returns their names. */
    down: (steps = 1) =>
      withLock(async (applied) => {
        await db.runScript(CREATE_RECORD)
        const names = newestFirst(migrations, applied).slice(0, steps)
        const umzug = await createUmzug(db, migrations, { applied, isAdopting: false })
        return (await umzug.down({ migrations: names })).map(({ name }) => name)
      }),
    async status(): Promise<MigrationStatus[]> {
      const applied = new Map((await readApplied()).map((each) => [each.name, each]))
      return migrations.map(({ name }) => ({
        name,
        appliedAt: applied.get(name)?.applied_at,
        adopted: Boolean(applied.get(name)?.adopted),
      }))
    },
    /** How the database differs from the specification, except for what the pending migrations change. */
    inspect: async (): Promise<Difference[]> => inspect(await readApplied()),
    /** Why two users can share an e-mail, a username or an id. Reads the catalog only. */
    findSharedAccounts: async (): Promise<Difference[]> => {
      const { adoption } = db.dialect
      if (!adoption) return []
      const applied = new Set((await readApplied()).map(({ name }) => name))
      return findSharedAccounts({ schema: await readSchema(db, adoption), adoption, applied })
    },
  }
}

interface Adopting {
  adopt: boolean
  isAdopting: boolean
}

const NO_ADOPTION = 'The database has a table users already, and this kind of database cannot adopt it.'

/** Fails before the first change where a later one would be refused. */
async function requireRights(db: Database): Promise<void> {
  try {
    await db.runScript(db.dialect.adoption?.requireRights ?? '')
  } catch (cause) {
    throw new Error(`The database cannot be changed, and nothing was changed: ${errorMessage(cause)}`, {
      cause,
    })
  }
}

/** Umzug is imported where migrations run: a service only asks which are pending, and would start later. */
async function createUmzug(
  db: Database,
  migrations: readonly Migration[],
  { applied, isAdopting }: { applied: readonly Applied[]; isAdopting: boolean },
): Promise<Umzug<object>> {
  const { Umzug } = await import('umzug')
  const byName = new Map(migrations.map((migration) => [migration.name, migration]))
  const adopted = new Set(applied.filter((each) => each.adopted).map((each) => each.name))
  const isFirst = (name: string) => name === migrations[0]?.name
  return new Umzug({
    migrations: migrations.map(({ name, upSql, downSql }) => ({
      name,
      up: async () => {
        if (isFirst(name) && !isAdopting) await createTables(db, upSql, applied)
        else await db.runScript(upSql)
      },
      down: async () => {
        if (adopted.has(name))
          throw new Error(`${name} adopted tables that existed before it; it does not drop them`)
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
          await transaction.execute(FORGET, [CREATES_TABLES])
        })
      },
      unlogMigration: async ({ name }) => void (await db.execute(FORGET, [name])),
    },
    context: {},
    logger: undefined,
  })
}

async function createTables(db: Database, upSql: string, applied: readonly Applied[]): Promise<void> {
  if (applied.length === 0) await db.execute(RECORD, [CREATES_TABLES, '', false])
  try {
    await db.runScript(upSql)
  } catch (error) {
    // Without a table of its own, tables found next time are not Latchkey's. MySQL may have created some.
    const mayHaveTables = await hasUsersTable(db).catch(() => true)
    if (!mayHaveTables) await db.execute(FORGET, [CREATES_TABLES]).catch(() => undefined)
    throw error
  }
}

const FIND_USERS_TABLE: Statement = {
  name: 'migrations-users-table',
  text: ({ columns }) =>
    `select 1 as found from (${columns}) as columns_of_schema where table_name = 'users' limit 1`,
}

/** Whether the database has a table `users`, Latchkey's or another. */
const hasUsersTable = async (db: Queryable): Promise<boolean> => (await db.query(FIND_USERS_TABLE)).length > 0

function refuseChanged(migrations: readonly Migration[], applied: readonly Applied[]): void {
  const checksums = new Map(migrations.map(({ name, checksum }) => [name, checksum]))
  for (const { name, checksum } of applied) {
    const expected = checksums.get(name)
    // Migrations of a newer release, which may run beside this one, are unknown here.
    if (expected !== undefined && expected !== checksum) {
      throw new Error(`Migration ${name} was edited after it had been applied; restore the original file.`)
    }
  }
}

/** The applied migrations of this release, the newest first; those that one run applied in the reverse of its order. */
function newestFirst(migrations: readonly Migration[], applied: readonly Applied[]): string[] {
  const order = new Map(migrations.map(({ name }, index) => [name, index]))
  const orderOf = ({ name }: Applied) => order.get(name) ?? 0
  return applied
    .filter(({ name }) => order.has(name))
    .toSorted((a, b) => b.applied_at.getTime() - a.applied_at.getTime() || orderOf(b) - orderOf(a))
    .map(({ name }) => name)
}
