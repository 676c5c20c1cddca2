import { Socket } from 'node:net'
import mysql from 'mysql2/promise'
import { within } from '../../clock.ts'
import { type DatabaseOptions, type PoolUsage, serverTimeoutMs } from '../database.ts'
import { endsConnection } from '../to-app-error.ts'
import { mysqlErrors } from './errors.ts'

/** Times in UTC; a value that does not fit is refused instead of being cut. */
export const SESSION = `set time_zone = '+00:00', sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES')`

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
  prepareSessions(pool, options)
  const usage = { inUse: 0, waiting: 0 }

  async function take(): Promise<mysql.PoolConnection> {
    usage.waiting++
    try {
      return await takeConnection(pool, options.connectTimeoutMs)
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

function prepareSessions(pool: mysql.Pool, { statementTimeoutMs, onConnectionError }: PoolOptions): void {
  pool.pool.on('connection', (connection) => {
    connection.on('error', (error) => onConnectionError?.(error))
    for (const sql of [SESSION, limitSession(statementTimeoutMs)])
      connection.query(sql, (error) => error && onConnectionError?.(error))
  })
}

/**
 * Lets the server stop what waits for a lock or takes too long. MySQL limits only reads, MariaDB every statement: each
 * has its own variable for it, in a comment to the other.
 */
function limitSession(statementTimeoutMs: number): string {
  const milliseconds = serverTimeoutMs(statementTimeoutMs)
  const seconds = Math.max(1, Math.floor(milliseconds / 1_000))
  return `set lock_wait_timeout = ${seconds}, innodb_lock_wait_timeout = ${seconds}
    /*!80000 , max_execution_time = ${milliseconds} */ /*M!100108 , max_statement_time = ${milliseconds / 1_000} */`
}

async function takeConnection(pool: mysql.Pool, timeoutMs: number): Promise<mysql.PoolConnection> {
  const taken = pool.getConnection()
  try {
    return await within(timeoutMs, taken, () => timedOut('No connection to the database is free'))
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
  const inner: object = connection.connection
  if ('stream' in inner && inner.stream instanceof Socket) inner.stream.destroy()
}

const timedOut = (message: string): Error => Object.assign(new Error(message), { code: TIMED_OUT })
