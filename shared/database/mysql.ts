import mysql from 'mysql2/promise'
import type { Database, DatabaseOptions, Queryable, SqlValue, Statement } from './database.ts'
import { retryDeadlocks } from './retry-deadlocks.ts'
import { toAppError } from './unavailable.ts'

/** How long a second migration waits for the first, in seconds. */
const LOCK_WAIT_SECONDS = 300

/** Times in UTC, and a value that does not fit is refused instead of being cut. */
const SESSION = `set time_zone = '+00:00', sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES')`

/** Opens a pool on MySQL or MariaDB. Connects at the first statement, and again after any loss. */
export function openMysql(url: string, { poolSize = 10, onConnectionError }: DatabaseOptions = {}): Database {
  const uri = url.replace(/^mariadb:/, 'mysql:')
  const options = { uri, timezone: 'Z', charset: 'utf8mb4', connectTimeout: 3_000, flags: ['FOUND_ROWS'] }
  const pool = mysql.createPool({
    ...options,
    connectionLimit: poolSize,
    enableKeepAlive: true,
    maxIdle: poolSize,
  })
  pool.pool.on('connection', (connection) => {
    connection.on('error', (error) => onConnectionError?.(error))
    connection.query(SESSION, (error) => error && onConnectionError?.(error))
  })

  async function withConnection<Result>(
    work: (connection: mysql.PoolConnection) => Promise<Result>,
  ): Promise<Result> {
    const connection = await pool.getConnection()
    try {
      return await work(connection)
    } finally {
      connection.release()
    }
  }

  const transact = <Result>(work: (transaction: Queryable) => Promise<Result>) =>
    withConnection(async (connection) => {
      await connection.beginTransaction()
      try {
        const result = await work(createQueryable(connection))
        await connection.commit()
        return result
      } catch (error) {
        // A broken connection cannot roll back, and need not: the server does.
        await connection.rollback().catch(() => undefined)
        throw error
      }
    })

  return {
    ...createQueryable(pool),
    transaction: (work) =>
      guard(() =>
        retryDeadlocks(
          () => transact(work),
          (error) => (error as { code?: unknown }).code === 'ER_LOCK_DEADLOCK',
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

function createQueryable(connection: mysql.Pool | mysql.PoolConnection): Queryable {
  return {
    dialect: 'mysql',
    query: <Row extends object>(statement: Statement, values: readonly SqlValue[] = []) =>
      guard(async () => {
        const { sql, order } = toPositional(statement)
        const [rows] = await connection.execute<mysql.RowDataPacket[]>(sql, pick(values, order))
        return rows as unknown as Row[]
      }),
    execute: (statement, values = []) =>
      guard(async () => {
        const { sql, order } = toPositional(statement)
        const [result] = await connection.execute<mysql.ResultSetHeader>(sql, pick(values, order))
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

async function guard<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw toAppError(error)
  }
}
