import type { IDatabase } from 'pg-promise'
import { type LockWaits, runWhenFree } from '../wait-for-lock.ts'
import { isDirect } from './start-up.ts'

/** The name under which scripts connect: by it, `FIND_HOLDER` finds them also behind a pooler. */
export const SCRIPT_NAME = 'latchkey-migrate'

/** A prepared transaction has no process. */
const FIND_HOLDER = `select string_agg(distinct concat(
      concat_ws(' on ', 'a lock', (select relname from pg_class where oid = waiting.relation)),
      ', held by ', case when blocker = 0 then 'a prepared transaction (pg_prepared_xacts)' else concat('pid ', blocker) end,
      ' (', concat_ws(', ', holder.state, holder.usename, nullif(holder.application_name, ''),
        to_char(holder.xact_start at time zone 'UTC', '"since" YYYY-MM-DD HH24:MI:SS "UTC"')), ')'), '; ') as holder
    from pg_stat_activity script
    join pg_locks waiting on waiting.pid = script.pid and not waiting.granted
    cross join unnest(pg_blocking_pids(script.pid)) as blocker
    left join pg_stat_activity holder on holder.pid = blocker
    where script.application_name = '${SCRIPT_NAME}' and script.datname = current_database()`

/** Statements that PostgreSQL refuses to run with others. None of it keeps others from writing. */
const RUNS_ALONE = /\b(concurrently|vacuum|create database|alter system)\b/i

/** Runs the script of a migration on a connection of `scripts`; a look at who holds a lock takes one of `pool`. */
export const runPostgresScript = (
  sql: string,
  waits: LockWaits,
  { scripts, pool }: { scripts: IDatabase<object>; pool: IDatabase<object> },
): Promise<void> =>
  runWhenFree(
    async () => {
      const connection = await scripts.connect()
      try {
        await buildIndexes(connection, sql, waits)
        // In the transaction of the script: behind a pooler, another client would get what is set for a session.
        const limit = RUNS_ALONE.test(withoutComments(sql))
          ? ''
          : `set local lock_timeout = ${waits.timeoutMs};`
        await connection.multi(`${limit}${sql}`)
      } finally {
        await connection.done()
      }
    },
    {
      isTimeout: (error) => error instanceof Error && 'code' in error && error.code === '55P03',
      findHolder: async () => (await pool.one<{ holder: string | null }>(FIND_HOLDER)).holder ?? undefined,
    },
    waits,
  )

type Connection = Awaited<ReturnType<IDatabase<object>['connect']>>

interface Index {
  /** `create index` or `create unique index`. */
  create: string
  name: string
  table: string
  rest: string
}

const CREATE_INDEX =
  /^(?<create>create (?:unique )?index) if not exists (?<name>\w+) (?<rest>on (?<table>\w+)\b.*)$/is

const withoutComments = (sql: string): string => sql.replaceAll(/--.*$/gm, '')

/** The indexes of a script that only creates indexes if they do not exist; none for any other script. */
export function findIndexes(sql: string): Index[] {
  const statements = withoutComments(sql)
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean)
  const indexes = statements.flatMap((statement) => {
    const { create = '', name = '', table = '', rest = '' } = CREATE_INDEX.exec(statement)?.groups ?? {}
    return name === '' ? [] : [{ create, name, table, rest }]
  })
  return indexes.length === statements.length ? indexes : []
}

/**
 * Builds the indexes of the script on tables with rows, so that the script finds them: concurrently, which lets others write.
 * One that failed half-way is there, and is not used.
 */
async function buildIndexes(connection: Connection, sql: string, { giveUpMs }: LockWaits): Promise<void> {
  for (const { create, name, table, rest } of findIndexes(sql)) {
    const { is_invalid: isInvalid, has_table: hasTable } = await connection.one(
      `select exists (select from pg_index where indexrelid = to_regclass($1) and not indisvalid) as is_invalid,
        to_regclass($2) is not null as has_table,
        case when ${isDirect(connection.client)} then set_config('lock_timeout', $3, false) end`,
      [name, table, String(giveUpMs)],
    )
    if (isInvalid) await connection.any(`drop index concurrently if exists ${name}`)
    const hasRows = hasTable && (await connection.any(`select from ${table} limit 1`)).length > 0
    if (hasRows) await connection.any(`${create} concurrently if not exists ${name} ${rest}`)
  }
}
