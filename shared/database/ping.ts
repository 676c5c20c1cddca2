import type { Database, Statement } from './database.ts'
import { IS_READ_ONLY } from './postgres/start-up.ts'

const PING: Statement = {
  name: 'database-ping',
  text: {
    postgres: `select ${IS_READ_ONLY} as is_read_only, current_timestamp(3) as now`,
    mysql: `select @@global.read_only = 1 or @@global.innodb_read_only = 1 as is_read_only,
      current_timestamp(3) as now`,
  },
}

/**
 * Resolves with the time of the database. Rejects with `unavailable` where it cannot be reached or cannot be changed. Runs in a
 * transaction, which a pooler in statement mode refuses.
 */
export const ping = (db: Pick<Database, 'transaction'>): Promise<Date> =>
  db.transaction(async (transaction) => {
    const [row] = await transaction.query<{ is_read_only: boolean | number; now: Date }>(PING)
    if (!row || row.is_read_only) throw readOnlyServer()
    return row.now
  })

/** The refusal of a change, under its SQLSTATE: the connection on which it occurs is not used again. */
export const readOnlyServer = (): Error =>
  Object.assign(new Error('The server only reads'), { code: '25006' })
