import { Socket } from 'node:net'
import mysql from 'mysql2/promise'
import { within } from '../within.ts'
import type { Database, DatabaseOptions, Queryable, SqlValue, Statement } from './database.ts'
import { runTransaction } from './run-transaction.ts'
import { serverTimeoutMs } from './server-timeout.ts'
import { toAppError } from './unavailable.ts'

/** How long connecting may take, and the wait for a connection while all are lent, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000

/** How long a second migration waits for the first, in seconds. */
const LOCK_WAIT_SECONDS = 300

/** Times in UTC, and a value that does not fit is refused instead of being cut. */
const SESSION = `set time_zone = '+00:00', sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES')`

/** What a server says that has become a replica: behind the same name there is another by now. */
const READ_ONLY: ReadonlySet<string> = new Set([
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  'ER_READ_ONLY_MODE',
])

/** Runs `work` on a connection, its own or one of a pool. */
type Lend = <Result>(work: (connection: mysql.Connection) => Promise<Result>) => Promise<Result>

/** Opens a pool on MySQL or MariaDB. Connects at the first statement, and again after any loss. */
export function openMysql(
  url: string,
  { poolSize = 10, statementTimeoutMs = 15_000, onConnectionError }: DatabaseOptions = {},
): Database {
  const uri = url.replace(/^mariadb:/, 'mysql:')
  const options = {
    uri,
    timezone: 'Z',
    charset: 'utf8mb4',
    connectTimeout: CONNECT_TIMEOUT_MS,
    flags: ['FOUND_ROWS'],
  }
  const pool = mysql.createPool({
    ...options,
    connectionLimit: poolSize,
    enableKeepAlive: true,
    maxIdle: poolSize,
  })
  pool.pool.on('connection', (connection) => {
    connection.on('error', (error) => onConnectionError?.(error))
    for (const sql of [SESSION, limitSession(statementTimeoutMs)])
      connection.query(sql, (error) => error && onConnectionError?.(error))
  })

  async function takeConnection(): Promise<mysql.PoolConnection> {
    const taken = pool.getConnection()
    try {
      return await within(CONNECT_TIMEOUT_MS, taken, () => timedOut('No connection to the database is free'))
    } catch (error) {
      // What comes too late goes back; what fails then has been told.
      taken.then((connection) => connection.release()).catch(() => undefined)
      throw error
    }
  }

  async function withConnection<Result>(
    work: (connection: mysql.PoolConnection) => Promise<Result>,
  ): Promise<Result> {
    const connection = await takeConnection()
    try {
      return await work(connection)
    } finally {
      connection.release()
    }
  }

  /** One step on a connection; a connection that does not answer, or only reads, is not used again. */
  async function step<Result>(connection: mysql.PoolConnection, work: Promise<Result>): Promise<Result> {
    try {
      return await within(statementTimeoutMs, work, () => timedOut('The database did not answer'))
    } catch (error) {
      const code = codeOf(error)
      if (code === TIMED_OUT || READ_ONLY.has(code)) drop(connection)
      throw error
    }
  }

  const transact = <Result>(work: (connection: Queryable) => Promise<Result>) =>
    withConnection(async (connection) => {
      await step(connection, connection.beginTransaction())
      try {
        const result = await work(createQueryable((statement) => step(connection, statement(connection))))
        await step(connection, connection.commit())
        return result
      } catch (error) {
        // A broken connection cannot roll back, and need not: the server does.
        await step(connection, connection.rollback()).catch(() => undefined)
        throw error
      }
    })

  return {
    ...createQueryable((statement) =>
      withConnection((connection) => step(connection, statement(connection))),
    ),
    transaction: (work) =>
      guard(() =>
        runTransaction(
          (afterCommit) => transact((connection) => work({ ...connection, afterCommit })),
          (error) => codeOf(error) === 'ER_LOCK_DEADLOCK',
        ),
      ),
    // On a connection of their own, as on PostgreSQL: a pool of one would wait for itself.
    runScript: (sql) =>
      guard(() =>
        withOwnConnection({ ...options, multipleStatements: true }, async (connection) => {
          await connection.query(SESSION)
          await connection.query(sql)
        }),
      ),
    withLock: (name, work) =>
      guard(() =>
        withOwnConnection(options, async (connection) => {
          const [rows] = await connection.query<mysql.RowDataPacket[]>('select get_lock(?, ?) as got', [
            name,
            LOCK_WAIT_SECONDS,
          ])
          if (rows[0]?.got !== 1)
            throw new Error(`The lock ${name} was not free within ${LOCK_WAIT_SECONDS} s`)
          return work()
        }),
      ),
    close: () => pool.end(),
  }
}

/**
 * Lets the server give up what waits for a lock or takes too long. MySQL limits reading alone, MariaDB every statement:
 * each has its own word for it, in a comment to the other.
 */
function limitSession(statementTimeoutMs: number): string {
  const milliseconds = serverTimeoutMs(statementTimeoutMs)
  const seconds = Math.max(1, Math.floor(milliseconds / 1_000))
  return `set lock_wait_timeout = ${seconds}, innodb_lock_wait_timeout = ${seconds}
    /*!80000 , max_execution_time = ${milliseconds} */ /*M!100108 , max_statement_time = ${milliseconds / 1_000} */`
}

/** `destroy` of mysql2 alone would say good-bye, and wait for a server that does not answer. */
function drop(connection: mysql.PoolConnection): void {
  connection.destroy()
  const inner: object = connection.connection
  if ('stream' in inner && inner.stream instanceof Socket) inner.stream.destroy()
}

/** Ending the connection frees the session's lock. */
async function withOwnConnection<Result>(
  options: mysql.ConnectionOptions,
  work: (connection: mysql.Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await mysql.createConnection(options)
  connection.on('error', () => undefined) // The statement in hand reports the loss.
  try {
    return await work(connection)
  } finally {
    await connection.end().catch(() => undefined)
  }
}

function createQueryable(lend: Lend): Queryable {
  return {
    dialect: 'mysql',
    query: <Row extends object>(statement: Statement, values: readonly SqlValue[] = []) =>
      guard(async () => {
        const { sql, order } = toPositional(statement)
        const [rows] = await lend((connection) =>
          connection.execute<mysql.RowDataPacket[]>(sql, pick(values, order)),
        )
        return rows as unknown as Row[]
      }),
    execute: (statement, values = []) =>
      guard(async () => {
        const { sql, order } = toPositional(statement)
        const [result] = await lend((connection) =>
          connection.execute<mysql.ResultSetHeader>(sql, pick(values, order)),
        )
        return result.affectedRows
      }),
    toUuidValue: (uuid) => Buffer.from(uuid.replaceAll('-', ''), 'hex'),
    fromUuidValue: (value) =>
      Buffer.from(value as Uint8Array)
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  }
}

interface PositionalStatement {
  sql: string
  /** For each `?`, the index of its value. */
  order: number[]
}

const positional = new WeakMap<Statement, PositionalStatement>()

/** MySQL's placeholders have no numbers: `$2` becomes `?`, and `order` remembers which value it wants. */
function toPositional(statement: Statement): PositionalStatement {
  const known = positional.get(statement)
  if (known) return known
  const order: number[] = []
  const sql = (statement.mysql ?? statement.text).replace(/\$(\d+)/g, (_, number) => {
    order.push(Number(number) - 1)
    return '?'
  })
  const made = { sql, order }
  positional.set(statement, made)
  return made
}

const pick = (values: readonly SqlValue[], order: readonly number[]) =>
  order.map((index) => values[index] ?? null)

/** What mysql2 itself says of a server that takes too long. */
const TIMED_OUT = 'PROTOCOL_SEQUENCE_TIMEOUT'
const timedOut = (message: string): Error => Object.assign(new Error(message), { code: TIMED_OUT })

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

async function guard<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw toAppError(error)
  }
}
