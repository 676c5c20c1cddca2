import mysql from 'mysql2/promise'
import {
  type Database,
  type DatabaseOptions,
  DEFAULT_OPTIONS,
  type Dialect,
  type SqlParameter,
  type SqlValue,
} from '../database.ts'
import { createQueryable, type Driver } from '../queryable.ts'
import {
  createTransactionState,
  repeatingStatements,
  runTransaction,
  transactionEnd,
} from '../run-transaction.ts'
import { toAppError, toFinalError, translating } from '../to-app-error.ts'
import { readMysqlUrl } from './connection-url.ts'
import { openPool, type Pool, SESSION, type Step } from './pool.ts'
import { LOCK_TIMEOUT_SECONDS, lockNotFree, withRowLock } from './row-lock.ts'

/** Finds a row where the server is a node of Galera or of Group Replication. */
const FIND_CLUSTER = {
  name: 'lock-cluster',
  text: `show variables where variable_name in ('wsrep_on', 'group_replication_group_name') and value not in ('OFF', '')`,
}

export function openMysql(dialect: Dialect, url: string, given: DatabaseOptions): Database {
  const options = { ...DEFAULT_OPTIONS, ...given }
  const connection: mysql.ConnectionOptions = {
    ...readMysqlUrl(url),
    timezone: 'Z',
    charset: 'utf8mb4',
    connectTimeout: options.connectTimeoutMs,
    flags: ['FOUND_ROWS'],
  }
  const pool = openPool(connection, options)
  const withFinalErrors = <Result>(work: () => Promise<Result>) =>
    translating(work, (error) => toFinalError(error, dialect.errors))
  const queryable = createQueryable(
    dialect,
    repeatingStatements(
      createDriver((work) => pool.use((step) => step(work))),
      dialect.errors,
    ),
    toFinalError,
  )
  const runScript = (sql: string) =>
    withFinalErrors(async () => {
      const options = { ...connection, multipleStatements: true }
      await runOnSeparateConnection(options, (separate) => separate.query(sql))
    })
  return {
    ...queryable,
    transaction: (work) =>
      runTransaction(
        (afterCommit) =>
          transact(pool, (step) =>
            work({ ...createQueryable(dialect, createDriver(step), toAppError), afterCommit }),
          ),
        dialect.errors,
      ),
    runScript,
    withLock: (name, work) =>
      withFinalErrors(async () => {
        if ((await queryable.query(FIND_CLUSTER)).length > 0)
          return withRowLock({ ...queryable, runScript }, name, work)
        return runOnSeparateConnection(connection, async (separate) => {
          await getLock(separate, name)
          return work()
        })
      }),
    usage: pool.usage,
    close: pool.close,
  }
}

const createDriver = (run: Step): Driver => ({
  query: (statement, values) =>
    run(async (connection) => {
      const [rows] = await connection.execute<mysql.RowDataPacket[] | mysql.ResultSetHeader>(
        ...toPositional(statement.text, values),
      )
      return Array.isArray(rows) ? rows : []
    }),
  execute: (statement, values) =>
    run(async (connection) => {
      const [result] = await connection.execute<mysql.ResultSetHeader>(
        ...toPositional(statement.text, values),
      )
      return result.affectedRows
    }),
})

/** MySQL's placeholders have no numbers: each `$2` becomes a `?`, or one for each value of a list or of rows. */
function toPositional(text: string, values: readonly SqlParameter[]): [sql: string, values: SqlValue[]] {
  const ordered: SqlValue[] = []
  const placeholdersFor = (value: SqlParameter): string => {
    if (Array.isArray(value))
      return value
        .map((each) => (Array.isArray(each) ? `(${placeholdersFor(each)})` : placeholdersFor(each)))
        .join(', ')
    ordered.push(value as SqlValue)
    return '?'
  }
  const sql = text.replace(/\$(\d+)/g, (_, number) => placeholdersFor(values[Number(number) - 1] ?? null))
  return [sql, ordered]
}

const transact = <Result>(pool: Pool, work: (step: Step) => Promise<Result>): Promise<Result> =>
  pool.use(async (step) => {
    const state = createTransactionState()
    await step((connection) => connection.beginTransaction())
    try {
      const result = await work(inOrder(step, state))
      state.end(transactionEnd())
      await step((connection) => connection.commit())
      return result
    } catch (error) {
      state.end(transactionEnd())
      // A broken connection cannot roll back, and need not: the server does.
      await step((connection) => connection.rollback()).catch(() => undefined)
      throw error
    }
  })

/**
 * Runs the steps of a transaction one after the other, and none after one that failed or after the end: a deadlock ends the
 * transaction on the server, and a later statement would be a transaction by itself.
 */
function inOrder(step: Step, { requireOpen, end }: ReturnType<typeof createTransactionState>): Step {
  let previous: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = previous.then(() => {
      requireOpen()
      return step(work)
    })
    previous = result.catch(end)
    return result
  }
}

/** Runs `work` on a separate connection, so that a pool of one does not wait for itself; its end frees its locks. */
async function runOnSeparateConnection<Result>(
  options: mysql.ConnectionOptions,
  work: (connection: mysql.Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await mysql.createConnection(options)
  connection.on('error', () => undefined) // The pending statement reports the loss.
  try {
    for (const sql of SESSION) await connection.query(sql)
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
  if (rows[0]?.got !== 1) throw lockNotFree(name)
}
