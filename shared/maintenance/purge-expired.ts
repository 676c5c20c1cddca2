import { Counter, Gauge, type Registry } from 'prom-client'
import type { Queryable, SqlValue, Statement } from '../database/database.ts'
import { rootReason } from '../errors/root-reason.ts'
import { createRepeatedTask, type RepeatedTaskOptions } from '../lifecycle/repeated-task.ts'
import type { Clock } from '../time/clock.ts'
import { type ExpiringTable, listExpiringTables } from './expiring-tables.ts'
import { forgetPersons } from './forget-persons.ts'

/** Each statement stays far below its time limit, and other statements get their turn between two. */
const BATCH_SIZE = 1_000

export interface PurgeDependencies {
  db: Pick<Queryable, 'query' | 'execute'>
  registry: Registry
  /** AUDIT_DAYS. */
  auditDays: number
  localNow: Clock
}

/**
 * Creates the function that deletes from the expiring tables what they need not keep, and from events the person who was erased. It deletes in batches; a table that fails
 * does not stop the others. It ends early when its signal is aborted.
 */
export function createPurge({ registry, auditDays, ...dependencies }: PurgeDependencies) {
  const purged = new Counter({
    name: 'latchkey_purged_rows_total',
    help: 'Rows deleted because they had expired or were older than AUDIT_DAYS',
    labelNames: ['table'],
    registers: [registry],
  })
  const tables = listExpiringTables(auditDays).map((table) => createPurgedTable(dependencies, table))
  registerOverdue(registry, tables)

  async function purgeTable({ table, findDue, remove }: PurgedTable, signal: AbortSignal): Promise<void> {
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
    await forgetPersons(dependencies.db, signal).catch((error) =>
      failures.push(`audit_event: ${rootReason(error)}`),
    )
    if (failures.length > 0) throw new Error(failures.join('; '))
  }
}

const PAUSE_MS = 600_000

/** Creates the task that runs the purge every ten minutes. */
export const createPurgeTask = ({
  logger,
  ...dependencies
}: PurgeDependencies & Pick<RepeatedTaskOptions, 'logger'>) =>
  createRepeatedTask({
    name: 'deleting expired rows',
    pauseMs: PAUSE_MS,
    work: createPurge(dependencies),
    logger,
  })

interface DueRow {
  id: SqlValue
  at: Date
}

type PurgedTable = ReturnType<typeof createPurgedTable>

/** Creates the statements of one table. Its view shows only rows that may be deleted, by the clock of the database. */
function createPurgedTable(
  { db, localNow }: Pick<PurgeDependencies, 'db' | 'localNow'>,
  { table, keepMs }: ExpiringTable,
) {
  const view = `expired_${table}`
  const dueBefore = () => new Date(localNow() - keepMs)
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
    /** Returns for how long the oldest row has been due, in seconds; 0 when none is. */
    async readOverdue(): Promise<number> {
      const [row] = await db.query<{ oldest: Date }>(findOldest, [dueBefore()])
      return row ? Math.max(0, localNow() - row.oldest.getTime() - keepMs) / 1000 : 0
    },
  }
}

/** A row that is due goes with the next run. A value that grows beyond the pause between two runs says that the purge fails, or is too slow. */
function registerOverdue(registry: Registry, tables: readonly PurgedTable[]): void {
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
