import mysql from 'mysql2/promise'
import { type Database, type DatabaseOptions, DEFAULT_OPTIONS, type Dialect } from '../database.ts'
import { createQueryable, type Driver } from '../queryable.ts'
import { runTransaction } from '../run-transaction.ts'
import { toAppError, toFinalError, translating } from '../to-app-error.ts'
import { createRefusal } from '../transaction-refusal.ts'
import { openPool, type Pool, SESSION, type Step } from './pool.ts'
import { toPositional } from './positional.ts'

/** Time that a second migration waits for the first. */
const LOCK_TIMEOUT_SECONDS = 300

export function openMysql(dialect: Dialect, url: string, given: DatabaseOptions): Database {
  const options = { ...DEFAULT_OPTIONS, ...given }
  const connection: mysql.ConnectionOptions = {
    uri: url.replace(/^mariadb:/, 'mysql:'),
    timezone: 'Z',
    charset: 'utf8mb4',
    connectTimeout: options.connectTimeoutMs,
    flags: ['FOUND_ROWS'],
  }
  const pool = openPool(connection, options)
  const final = <Result>(work: () => Promise<Result>) =>
    translating(work, (error) => toFinalError(error, dialect.errors))
  return {
    ...createQueryable(
      dialect,
      createDriver((work) => pool.use((step) => step(work))),
      toFinalError,
    ),
    transaction: (work) =>
      runTransaction(
        (afterCommit) =>
          transact(pool, (step) =>
            work({ ...createQueryable(dialect, createDriver(step), toAppError), afterCommit }),
          ),
        dialect.errors,
      ),
    runScript: (sql) =>
      final(() =>
        runOnOwnConnection({ ...connection, multipleStatements: true }, async (own) => {
          await own.query(SESSION)
          await own.query(sql)
        }),
      ),
    withLock: (name, work) =>
      final(() =>
        runOnOwnConnection(connection, async (own) => {
          await getLock(own, name)
          return work()
        }),
      ),
    usage: pool.usage,
    close: pool.close,
  }
}

const createDriver = (run: Step): Driver => ({
  query: (statement, values) =>
    run(async (connection) => {
      const [rows] = await connection.execute<mysql.RowDataPacket[]>(...toPositional(statement.text, values))
      return rows
    }),
  execute: (statement, values) =>
    run(async (connection) => {
      const [result] = await connection.execute<mysql.ResultSetHeader>(
        ...toPositional(statement.text, values),
      )
      return result.affectedRows
    }),
})

const transact = <Result>(pool: Pool, work: (step: Step) => Promise<Result>): Promise<Result> =>
  pool.use(async (step) => {
    const refusal = createRefusal()
    const inTransaction = inOrder(step, refusal)
    await step((connection) => connection.beginTransaction())
    try {
      const result = await work(inTransaction)
      refusal.end()
      await step((connection) => connection.commit())
      return result
    } catch (error) {
      refusal.end()
      // A broken connection cannot roll back, and need not: the server does.
      await step((connection) => connection.rollback()).catch(() => undefined)
      throw error
    }
  })

/**
 * Runs the steps of a transaction one after the other, and none after one that failed or after the end: a deadlock ends the
 * transaction on the server, and a later statement would be a transaction of its own.
 */
function inOrder(step: Step, refusal: ReturnType<typeof createRefusal>): Step {
  let previous: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = previous.then(() => {
      refusal.check()
      return step(work)
    })
    previous = result.catch(refusal.record)
    return result
  }
}

/** Runs `work` on a separate connection, so that a pool of one does not wait for itself; its end frees its locks. */
async function runOnOwnConnection<Result>(
  options: mysql.ConnectionOptions,
  work: (connection: mysql.Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await mysql.createConnection(options)
  connection.on('error', () => undefined) // The pending statement reports the loss.
  try {
    return await work(connection)
  } finally {
    await connection.end().catch(() => undefined)
  }
}

async function getLock(connection: mysql.Connection, name: string): Promise<void> {
  const [rows] = await connection.query<mysql.RowDataPacket[]>('select get_lock(?, ?) as got', [
    name,
    LOCK_TIMEOUT_SECONDS,
  ])
  if (rows[0]?.got !== 1) throw new Error(`The lock ${name} was not free within ${LOCK_TIMEOUT_SECONDS} s`)
}
