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
import { type LockWaits, pollLock, runWhenFree, whileHeld } from '../wait-for-lock.ts'
import { readMysqlUrl } from './connection-url.ts'
import { CONNECTION_SETTINGS, openPool, type Pool, type Step } from './pool.ts'
import { PACE, withRowLock } from './row-lock.ts'

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
  const runScript = (sql: string, waits?: LockWaits) =>
    withFinalErrors(() =>
      runOnSeparateConnection({ ...connection, multipleStatements: true }, (separate) =>
        waits ? runWithin(waits, sql, separate, queryable) : separate.query(sql).then(() => undefined),
      ),
    )
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
    withLock: (name, work, onWait) =>
      withFinalErrors(async () => {
        if ((await queryable.query(FIND_CLUSTER)).length > 0)
          return withRowLock({ ...queryable, runScript }, name, work, {
            ...PACE,
            ...(onWait ? { onWait } : {}),
          })
        return runOnSeparateConnection(connection, async (separate) => {
          await pollLock(name, () => takeLock(separate, name), onWait)
          return whileHeld(name, () => hasLock(separate, name), work)
        })
      }),
    usage: pool.usage,
    async queryBeside(statement) {
      const beside = openPool(connection, { ...options, poolSize: 1 })
      try {
        return await createQueryable(
          dialect,
          createDriver((work) => beside.use((step) => step(work))),
          toAppError,
        ).query(statement)
      } finally {
        // Not awaited: a server that does not answer would not say goodbye.
        void beside.close().catch(() => undefined)
      }
    },
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
    for (const sql of CONNECTION_SETTINGS) await connection.query(sql)
    return await work(connection)
  } finally {
    await connection.end().catch(() => undefined)
  }
}

/** Runs the script of a migration, and waits for locks as `waits` says. */
async function runWithin(
  waits: LockWaits,
  sql: string,
  connection: mysql.Connection,
  db: Pick<Database, 'query'>,
): Promise<void> {
  const seconds = Math.max(1, Math.round(waits.timeoutMs / 1_000))
  await connection.query(`set lock_wait_timeout = ${seconds}, innodb_lock_wait_timeout = ${seconds}`)
  await runWhenFree(
    async () => void (await connection.query(sql)),
    {
      isTimeout: (error) =>
        error instanceof Error && 'code' in error && error.code === 'ER_LOCK_WAIT_TIMEOUT',
      findHolder: () => findHolder(db, connection.threadId),
    },
    waits,
  )
}

/** The locks of a server are those of all its databases; a name has at most 64 characters. */
const LOCK_NAME = "concat(?, ' ', left(sha2(database(), 256), 40))"

/** Takes the lock, or returns who has it. */
async function takeLock(connection: mysql.Connection, name: string): Promise<string | undefined> {
  const [rows] = await connection.query<mysql.RowDataPacket[]>(
    `select get_lock(${LOCK_NAME}, 0) as got, is_used_lock(${LOCK_NAME}) as holder`,
    [name, name],
  )
  return rows[0]?.got === 1 ? undefined : `connection ${rows[0]?.holder}`
}

async function hasLock(connection: mysql.Connection, name: string): Promise<boolean> {
  const [rows] = await connection.query<mysql.RowDataPacket[]>(
    `select is_used_lock(${LOCK_NAME}) = connection_id() as is_held`,
    [name],
  )
  return rows[0]?.is_held === 1
}

const FIND_WAIT = {
  name: 'lock-wait',
  text: `select state as state from information_schema.processlist where id = $1 and state like 'Waiting for%lock%'`,
}
/** A lock on the definition of a table is held until the transaction ends that has used the table. */
const FIND_TRANSACTIONS = {
  name: 'lock-transactions',
  text: `select trx_mysql_thread_id as id, date_format(trx_started, '%Y-%m-%d %H:%i:%s') as since, user as user, command as command
    from information_schema.innodb_trx left join information_schema.processlist on id = trx_mysql_thread_id
    where trx_mysql_thread_id <> $1 order by trx_started limit 5`,
}

async function findHolder(db: Pick<Database, 'query'>, threadId: number): Promise<string | undefined> {
  const [waiting] = await db.query<{ state: string }>(FIND_WAIT, [threadId])
  if (!waiting) return undefined
  const lock = waiting.state.replace('Waiting for ', '')
  try {
    const open = await db.query<{ id: number; since: string; user: string | null; command: string | null }>(
      FIND_TRANSACTIONS,
      [threadId],
    )
    const holders = open.map(
      ({ id, since, user, command }) => `connection ${id} (${command}, ${user}, since ${since} UTC)`,
    )
    return `a ${lock}; open transactions: ${holders.join('; ') || 'none, so that lock tables or flush tables has it'}`
  } catch {
    return `a ${lock}; who holds it, only a login with the right process can see (information_schema.innodb_trx)`
  }
}
