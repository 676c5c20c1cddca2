import type { Queryable, SqlValue, Statement } from '@latchkey/shared/database/database.ts'
import { rootReason } from '@latchkey/shared/errors/root-reason.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { Counter, Gauge, type Registry } from 'prom-client'

const DAY_MS = 24 * 3_600_000
/** How long admins can look up what was requested: a day. */
const KEEP_REQUESTS_MS = DAY_MS
/** How far the clocks of processes may differ before a row is missed. */
const CLOCK_LEEWAY_MS = 60_000
/** The same for what has ended a token: without its row, a replica whose clock is behind accepts the token again. */
const REVOCATION_LEEWAY_MS = 3_600_000
/** Each statement stays far below its time limit, and other statements get their turn between two. */
const BATCH_SIZE = 1_000

export interface PurgeDependencies {
  db: Pick<Queryable, 'query' | 'execute'>
  registry: Registry
  /** How long the audit trail is kept, in days. */
  auditDays: number
  clock: Clock
}

/**
 * Creates the function that deletes resets and changes of e-mail that expired more than a day ago, revocations and sessions
 * whose tokens have expired, expired sign-ups, and events of the audit trail older than `auditDays`. It deletes in batches; a
 * table that fails does not stop the others. It ends early when its signal is aborted.
 */
export function createPurge({ registry, auditDays, ...dependencies }: PurgeDependencies) {
  const purged = new Counter({
    name: 'latchkey_purged_rows_total',
    help: 'Rows deleted because they had expired or were older than AUDIT_DAYS',
    labelNames: ['table'],
    registers: [registry],
  })
  const tables = [
    createExpiringTable(dependencies, 'password_reset', KEEP_REQUESTS_MS),
    createExpiringTable(dependencies, 'email_change', KEEP_REQUESTS_MS),
    createExpiringTable(dependencies, 'token_revocation', REVOCATION_LEEWAY_MS),
    // A sign-up contains the hash of a password: it is not kept.
    createExpiringTable(dependencies, 'sign_up', CLOCK_LEEWAY_MS),
    createExpiringTable(dependencies, 'user_session', CLOCK_LEEWAY_MS),
    createExpiringTable(dependencies, 'audit_event', auditDays * DAY_MS),
  ]
  registerOverdue(registry, tables)

  async function purgeTable({ table, findDue, remove }: ExpiringTable, signal: AbortSignal): Promise<void> {
    let due: DueRow[]
    let from = new Date(0)
    do {
      due = await findDue(from)
      from = due.at(-1)?.at ?? from
      if (due.length > 0) purged.inc({ table }, await remove(due.map(({ id }) => id)))
    } while (due.length === BATCH_SIZE && !signal.aborted)
  }

  return async (signal: AbortSignal): Promise<void> => {
    const failures: string[] = []
    for (const table of tables)
      await purgeTable(table, signal).catch((error) => failures.push(`${table.table}: ${rootReason(error)}`))
    if (failures.length > 0) throw new Error(failures.join('; '))
  }
}

interface DueRow {
  id: SqlValue
  at: Date
}

type ExpiringTable = ReturnType<typeof createExpiringTable>

/**
 * A table whose rows are due `keepMs` after the moment that its view `expired_…` has. The view shows only rows that may be
 * deleted, by the clock of the database.
 */
function createExpiringTable(
  { db, clock }: Pick<PurgeDependencies, 'db' | 'clock'>,
  table: string,
  keepMs: number,
) {
  const view = `expired_${table}`
  const dueBefore = () => new Date(clock() - keepMs)
  const find = {
    name: `${table}-due`,
    text: `select id, moment as at from ${view}
      where moment >= $1 and moment < $2 order by moment limit ${BATCH_SIZE}`,
  }
  const deleteAll: Statement = {
    name: `${table}-purge`,
    text: {
      postgres: `delete from ${view} where id = any($1)`,
      mysql: `delete from ${view} where id in ($1)`,
    },
  }
  const findOldest = {
    name: `${table}-oldest`,
    text: `select moment as oldest from ${view} where moment < $1 order by moment limit 1`,
  }
  return {
    table,
    /**
     * A batch of rows, oldest first. `from` passes over those that this run has deleted: the index keeps them for as long as
     * any transaction is open, such as that of a backup, and each batch would read them all.
     */
    findDue: (from: Date): Promise<DueRow[]> => db.query<DueRow>(find, [from, dueBefore()]),
    /** Returns how many rows were left to delete: another worker may have been first. */
    remove: (ids: readonly SqlValue[]): Promise<number> => db.execute(deleteAll, [ids]),
    /** For how long the oldest row has been due, in seconds; 0 when none is. */
    async readOverdue(): Promise<number> {
      const [row] = await db.query<{ oldest: Date }>(findOldest, [dueBefore()])
      return row ? Math.max(0, clock() - row.oldest.getTime() - keepMs) / 1000 : 0
    },
  }
}

/** What is due goes at the next run, ten minutes later at most: a value that grows says that the purge fails, or is too slow. */
function registerOverdue(registry: Registry, tables: readonly ExpiringTable[]): void {
  new Gauge({
    name: 'latchkey_purge_overdue_seconds',
    help: 'For how long the oldest row that is to be deleted has been due; NaN while the database is unavailable',
    labelNames: ['table'],
    registers: [registry],
    async collect() {
      // At the same time: each read of a database that does not answer waits for its time limit.
      const reads = tables.map(async ({ table, readOverdue }) =>
        this.set({ table }, await readOverdue().catch(() => Number.NaN)),
      )
      await Promise.all(reads)
    },
  })
}
