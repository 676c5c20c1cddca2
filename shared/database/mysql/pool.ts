import { Socket } from 'node:net'
import mysql from 'mysql2/promise'
import { within } from '../../time/clock.ts'
import { type DatabaseOptions, lockTimeoutMs, type PoolUsage, serverTimeoutMs } from '../database.ts'
import { createTake } from '../take-connection.ts'
import { endsConnection, noneFree } from '../to-app-error.ts'
import { mysqlErrors } from './errors.ts'

/**
 * The settings that decide what statements mean, and how many rows they may read or change. A server or its `init_connect` may have
 * any other value; a value that does not fit is refused instead of being cut.
 */
export const CONNECTION_SETTINGS: readonly string[] = [
  `set names utf8mb4 collate utf8mb4_general_ci, time_zone = '+00:00', autocommit = 1, completion_type = 0,
    sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    sql_safe_updates = 0, sql_big_selects = 1, sql_select_limit = 18446744073709551615, sql_auto_is_null = 0,
    unique_checks = 1, foreign_key_checks = 1, default_storage_engine = InnoDB, group_concat_max_len = 65536`,
  'set session transaction isolation level repeatable read, read write',
]

/** Latchkey has fewer statements than this. */
const MAX_PREPARED = 200

/** mysql2's own code for a server that takes too long. */
const TIMED_OUT = 'PROTOCOL_SEQUENCE_TIMEOUT'

export type PoolOptions = Required<Omit<DatabaseOptions, 'onConnectionError'>> &
  Pick<DatabaseOptions, 'onConnectionError'>

/** One step on a connection, within the time limit of a statement. */
export type Step = <Result>(work: (connection: mysql.Connection) => Promise<Result>) => Promise<Result>

export interface Pool {
  /** Runs `work` on one connection, which is free again when `work` ends. */
  use<Result>(work: (step: Step) => Promise<Result>): Promise<Result>
  usage(): PoolUsage
  close(): Promise<void>
}

export function openPool(connection: mysql.ConnectionOptions, options: PoolOptions): Pool {
  const pool = mysql.createPool({
    ...connection,
    connectionLimit: options.poolSize,
    maxIdle: options.poolSize,
    enableKeepAlive: true,
    // A list of another length is another statement, and a server has room for 16,382.
    maxPreparedStatements: MAX_PREPARED,
  })
  prepareConnections(pool, options)
  const usage = { inUse: 0, waiting: 0 }

  const takeOne = createTake(
    {
      take: () =>
        takeConnection(pool, options.connectTimeoutMs, () =>
          usage.inUse > 0
            ? noneFree(usage, options.poolSize)
            : timedOut('No connection to the database was opened'),
        ),
      open: () => usage.inUse,
      limit: (connections) => {
        pool.pool.config.connectionLimit = connections
      },
      size: options.poolSize,
    },
    mysqlErrors,
  )

  async function take(): Promise<mysql.PoolConnection> {
    usage.waiting++
    try {
      return await takeOne()
    } finally {
      usage.waiting--
    }
  }

  return {
    async use(work) {
      const connection = await take()
      usage.inUse++
      try {
        return await work(createStep(connection, options.statementTimeoutMs))
      } catch (error) {
        if (endsConnection(error, mysqlErrors)) drop(connection)
        throw error
      } finally {
        usage.inUse--
        connection.release()
      }
    },
    usage: () => ({ ...usage }),
    close: () => pool.end(),
  }
}

function prepareConnections(pool: mysql.Pool, { statementTimeoutMs, onConnectionError }: PoolOptions): void {
  pool.pool.on('connection', (connection) => {
    const report = (error: Error | null) => error && onConnectionError?.(error)
    connection.on('error', report)
    for (const sql of CONNECTION_SETTINGS)
      connection.query(sql, (error) => {
        report(error)
        // Nothing runs in another session: what waits for this connection fails with this error.
        if (error) endStream(connection, error)
      })
    connection.query(limitConnection(statementTimeoutMs), report)
  })
}

/**
 * Lets the server stop what waits for a lock or takes too long. MySQL limits only reads, MariaDB every statement: each
 * has its own variable for it, in a comment to the other.
 */
function limitConnection(statementTimeoutMs: number): string {
  const milliseconds = serverTimeoutMs(statementTimeoutMs)
  const seconds = Math.max(1, Math.floor(lockTimeoutMs(statementTimeoutMs) / 1_000))
  return `set lock_wait_timeout = ${seconds}, innodb_lock_wait_timeout = ${seconds}
    /*!80000 , max_execution_time = ${milliseconds} */ /*M!100108 , max_statement_time = ${milliseconds / 1_000} */`
}

async function takeConnection(
  pool: mysql.Pool,
  timeoutMs: number,
  tooLate: () => Error,
): Promise<mysql.PoolConnection> {
  const taken = pool.getConnection()
  try {
    return await within(timeoutMs, taken, tooLate)
  } catch (error) {
    // A connection that comes too late goes back; an error that comes too late has been reported.
    taken.then((connection) => connection.release()).catch(() => undefined)
    throw error
  }
}

/** A connection that must not be used again is closed before the next step. */
const createStep =
  (connection: mysql.PoolConnection, timeoutMs: number): Step =>
  async (work) => {
    try {
      return await within(timeoutMs, work(connection), () => timedOut('The database did not answer'))
    } catch (error) {
      if (endsConnection(error, mysqlErrors)) drop(connection)
      throw error
    }
  }

/** mysql2's `destroy` says goodbye to the server, and would wait for a server that does not answer. */
function drop(connection: mysql.PoolConnection): void {
  connection.destroy()
  endStream(connection.connection)
}

function endStream(connection: object, error?: Error): void {
  if ('stream' in connection && connection.stream instanceof Socket) connection.stream.destroy(error)
}

const timedOut = (message: string): Error => Object.assign(new Error(message), { code: TIMED_OUT })
