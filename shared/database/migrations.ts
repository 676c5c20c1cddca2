import type { Umzug } from 'umzug'
import type { Difference } from './adoption/adoption.ts'
import { inspectAccounts, inspectDatabase, requireNoDifferences } from './adoption/inspect-database.ts'
import type { Database, Queryable, Statement } from './database.ts'
import { type Migration, readAllMigrations } from './migration-files.ts'
import { describeTextFault, findMissingRights } from './requirements.ts'
import type { LockWaits } from './wait-for-lock.ts'

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

/** Held by each run that changes the schema, or the rights of logins. */
export const MIGRATION_LOCK = 'latchkey_migrations'

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
const FIND_ACCOUNT = { name: 'migrations-account', text: 'select 1 as found from users limit 1' }
const FIND_TABLE: Statement = {
  name: 'migrations-table',
  text: {
    postgres: `select 1 as found from information_schema.tables
      where table_schema = current_schema() and table_name = $1`,
    mysql: `select 1 as found from information_schema.tables
      where table_schema = database() and table_name = $1`,
  },
}

/**
 * A lock of a table is waited for in short attempts, since everything that writes to the table waits behind it. Five minutes
 * are also what a second migration waits for the first.
 */
const PACE = { timeoutMs: 2_000, pauseMs: 2_000, giveUpMs: 300_000 }

export interface MigratorOptions extends Partial<Pick<LockWaits, 'timeoutMs' | 'pauseMs' | 'giveUpMs'>> {
  /** Receives what a migration waits for, and who holds it. */
  onWait?: LockWaits['onWait']
}

/** The database as it may be changed while the lock of migrations is held: once it is lost, nothing more is changed. */
const changeWhileHeld = (db: Database, waits: LockWaits): Database => ({
  ...db,
  runScript: (sql) => db.runScript(sql, waits),
  async execute(statement, values) {
    await waits.requireHeld()
    return db.execute(statement, values)
  },
})

export type Migrator = ReturnType<typeof createMigrator>

/**
 * Runs the numbered migrations of `migrations/<dialect>/`, then those of each extension, under the database's own lock,
 * so that two runs at the same time apply each migration once. A database that already has the specified tables is
 * adopted.
 */
export function createMigrator(
  db: Database,
  migrations: readonly Migration[] = readAllMigrations(db.dialect.name),
  { onWait = () => undefined, ...pace }: MigratorOptions = {},
) {
  const withLock = <Result>(work: (held: Database, applied: Applied[]) => Promise<Result>): Promise<Result> =>
    db.withLock(
      MIGRATION_LOCK,
      async (requireHeld) => {
        const applied = await readApplied(db)
        requireUnchanged(migrations, applied)
        return work(changeWhileHeld(db, { ...PACE, ...pace, onWait, requireHeld }), applied)
      },
      onWait,
    )

  return {
    /**
     * Applies the pending migrations in order; returns their names. With `adopt`, first brings tables of another program
     * to the specification.
     */
    up: ({ adopt = false } = {}) =>
      withLock(async (held, applied) => {
        // The table `users` of another program.
        const isAdopting = applied.length === 0 && (await hasTable(db, 'users'))
        if (isAdopting && !db.dialect.adoption) throw new Error(NO_ADOPTION)
        await makeUsable(held, migrations, { applied, adopt })
        // `create table if not exists` needs the right to create tables also where the table exists.
        if (!(await hasTable(db, 'latchkey_migrations'))) await held.runScript(CREATE_RECORD)
        const umzug = await createUmzug(held, migrations, { applied, isAdopting })
        return (await umzug.up()).map(({ name }) => name)
      }),
    /** Reverts the newest `steps` migrations; returns their names. */
    down: (steps = 1) =>
      withLock(async (held, applied) => {
        const names = newestFirst(migrations, applied).slice(0, steps)
        const umzug = await createUmzug(held, migrations, { applied, isAdopting: false })
        return (await umzug.down({ migrations: names })).map(({ name }) => name)
      }),
    async status(): Promise<MigrationStatus[]> {
      const applied = new Map((await readApplied(db)).map((each) => [each.name, each]))
      return migrations.map(({ name }) => ({
        name,
        appliedAt: applied.get(name)?.applied_at,
        adopted: Boolean(applied.get(name)?.adopted),
      }))
    },
    /** Finds the faults for which no migration may run on the database as it is. */
    inspect: async (): Promise<Difference[]> => findFaults(db, migrations, await readApplied(db)),
    /** Finds the fault of a database that can be used nevertheless. Reads every user if there is something. */
    findWarning: async (): Promise<string | undefined> =>
      (await isInUse(db, await readApplied(db))) ? describeTextFault(db) : undefined,
    /** Returns why two users can share an e-mail, a username or an id. Reads the catalog only. */
    findSharedAccounts: async (): Promise<Difference[]> =>
      inspectAccounts(db, namesOf(await readApplied(db))),
  }
}

const NO_ADOPTION = 'The database has a table users already, and this kind of database cannot adopt it.'

async function readApplied(db: Queryable): Promise<Applied[]> {
  return (await hasTable(db, 'latchkey_migrations')) ? db.query<Applied>(LIST_APPLIED) : []
}

const hasTable = async (db: Queryable, table: string): Promise<boolean> =>
  (await db.query(FIND_TABLE, [table])).length > 0

const namesOf = (applied: readonly Applied[]): Set<string> => new Set(applied.map(({ name }) => name))

/** True where the database has been migrated, or has accounts of another program. */
async function isInUse(db: Queryable, applied: readonly Applied[]): Promise<boolean> {
  if (applied.length > 0) return true
  return (await hasTable(db, 'users')) && (await db.query(FIND_ACCOUNT)).length > 0
}

/** Finds what the first migration or a later one would fail of, and how existing tables differ from the specification. */
async function findFaults(
  db: Queryable,
  migrations: readonly Migration[],
  applied: readonly Applied[],
): Promise<Difference[]> {
  const text = await db.dialect.findTextFault?.(db)
  if (text && (text.isFinal || !(await isInUse(db, applied)))) return [text]
  const names = namesOf(applied)
  const differences = await inspectDatabase(db, names)
  const pending = migrations.filter(({ name }) => !names.has(name))
  const changed = differences.length > 0 ? ['users', 'users_property'] : []
  return [...(await findMissingRights(db, pending, changed)), ...differences]
}

/** Removes all differences if `adopt` is set. Throws, before anything is changed, where one is left. */
async function makeUsable(
  db: Database,
  migrations: readonly Migration[],
  { applied, adopt }: { applied: readonly Applied[]; adopt: boolean },
): Promise<void> {
  const faults = await findFaults(db, migrations, applied)
  requireNoDifferences(faults, adopt)
  // One by one, since MySQL commits each change of a table by itself. A second run continues where the first has ended.
  for (const { fix = '' } of faults) await db.runScript(fix)
  if (faults.length > 0) requireNoDifferences(await findFaults(db, migrations, applied), false)
}

/** Umzug is imported where migrations run: a service only asks which are pending, and would start later. */
async function createUmzug(
  db: Database,
  migrations: readonly Migration[],
  { applied, isAdopting }: { applied: readonly Applied[]; isAdopting: boolean },
): Promise<Umzug<object>> {
  const { Umzug } = await import('umzug')
  const byName = new Map(migrations.map((migration) => [migration.name, migration]))
  const adopted = namesOf(applied.filter((each) => each.adopted))
  return new Umzug({
    migrations: migrations.map(({ name, upSql, downSql }) => ({
      name,
      up: () => db.runScript(upSql),
      down: async () => {
        if (adopted.has(name))
          throw new Error(`${name} adopted tables that existed before it; it does not drop them`)
        await db.runScript(downSql)
      },
    })),
    storage: {
      executed: async () => (await readApplied(db)).map(({ name }) => name),
      async logMigration({ name }) {
        // Tables of a run that was killed before this record count as adopted: `down` does not drop them either.
        const isAdopted = isAdopting && name === migrations[0]?.name
        await db.execute(RECORD, [name, byName.get(name)?.checksum ?? '', isAdopted])
      },
      unlogMigration: async ({ name }) => void (await db.execute(FORGET, [name])),
    },
    context: {},
    logger: undefined,
  })
}

function requireUnchanged(migrations: readonly Migration[], applied: readonly Applied[]): void {
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
