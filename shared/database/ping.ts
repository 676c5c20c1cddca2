import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '../errors/app-error.ts'
import type { Database, Statement } from './database.ts'
import { IS_READ_ONLY } from './postgres/start-up.ts'

/** The time that a ping waits for a connection of the pool, so that a probe, which waits 3 s, gets its answer. */
const POOL_WAIT_MS = 1_000

/**
 * The lock that the oldest statement of this login waits for; others then wait too. Only PostgreSQL tells a login without
 * further rights. A row is locked by its transaction; the first one that waits for it holds a lock on its tuple.
 */
const OLDEST_WAIT = `select concat('waits for a lock', ' on ' || (
      select relname from pg_locks join pg_class on pg_class.oid = relation
      where pg_locks.pid = waiting.pid and (not granted or locktype = 'tuple') limit 1
    ), ', held by pid ' || (pg_blocking_pids(waiting.pid))[1])
  from pg_stat_activity waiting
  where usename = current_user and datname = current_database() and wait_event_type = 'Lock'
    and wait_event <> 'advisory' and query_start < clock_timestamp() - interval '2 seconds'
  order by query_start limit 1`

const PING: Statement = {
  name: 'database-ping',
  text: {
    postgres: `select ${IS_READ_ONLY} as is_read_only, current_timestamp(3) as now, (${OLDEST_WAIT}) as waits`,
    mysql: `select @@global.read_only = 1 or @@global.innodb_read_only = 1 as is_read_only,
      current_timestamp(3) as now, null as waits`,
  },
}

interface Row {
  is_read_only: boolean | number
  now: Date
  waits: string | null
}

/** The answer of a database that can be reached. */
export interface Pong {
  /** The time of the database, unless it is too busy to say that. */
  now?: Date
  /** The state that its check reports where it serves only some requests. */
  busy?: { outcome: string; reason: string; isServing: true }
}

/**
 * Resolves where the database answers, even if the pool is in use. Rejects with `unavailable` where it cannot be reached or
 * cannot be changed. Runs in a transaction, which a pooler in statement mode refuses.
 */
export async function ping(db: Pick<Database, 'transaction' | 'usage' | 'queryBeside'>): Promise<Pong> {
  const onPool = db.transaction(async (transaction) => toPong(await transaction.query<Row>(PING)))
  const pong = await Promise.race([onPool, wait(POOL_WAIT_MS, undefined, { ref: false })])
  if (pong) return pong
  const { inUse, waiting } = db.usage()
  if (waiting === 0) return onPool
  const inUseOnly = toBusy('connections in use', `all ${inUse} connections in use`)
  try {
    const { now, busy } = toPong(await db.queryBeside<Row>(PING))
    return { ...(now ? { now } : {}), busy: busy ?? inUseOnly }
  } catch (error) {
    if (error instanceof AppError && error.state === 'server full') return { busy: inUseOnly }
    throw error
  }
}

const toBusy = (outcome: string, reason: string) => ({ outcome, reason, isServing: true as const })

function toPong([row]: Row[]): Pong {
  if (!row || row.is_read_only) throw readOnlyServer()
  return { now: row.now, ...(row.waits ? { busy: toBusy('locked', row.waits) } : {}) }
}

/** The refusal of a change, under its SQLSTATE: the connection on which it occurs is not used again. */
export const readOnlyServer = (): Error =>
  Object.assign(new Error('The server only reads'), { code: '25006' })
