import pg from 'pg'
import { type Database, type DatabaseOptions, DEFAULT_OPTIONS, type Dialect } from '../database.ts'
import { createQueryable, type Driver } from '../queryable.ts'
import { runTransaction } from '../run-transaction.ts'
import { serverTimeoutMs } from '../server-timeout.ts'
import { toAppError, toFinalError, translating } from '../to-app-error.ts'
import { createRefusal } from '../transaction-refusal.ts'
import { createStatementQueue, release, type Send, sendTogether } from './statement-queue.ts'

/** `timestamp` columns of an adopted database contain UTC, as ours do; `pg` would read them as local time. */
const TIMESTAMP_OID = 1114
const types = new pg.TypeOverrides()
types.setTypeParser(TIMESTAMP_OID, (text: string) => new Date(`${text.replace(' ', 'T')}Z`))

/**
 * What the server writes there by its own clock is UTC too, as on MySQL. A statement, because start-up options would be
 * overridden by those of the URL, and some poolers refuse them.
 */
const SESSION = "set time zone 'UTC'"

type Options = Required<Omit<DatabaseOptions, 'onConnectionError'>>

export function openPostgres(dialect: Dialect, url: string, given: DatabaseOptions): Database {
  const options: Options & DatabaseOptions = { ...DEFAULT_OPTIONS, ...given }
  const pool = openPool(url, options)
  const statements = createStatementQueue(pool)
  const final = <Result>(work: () => Promise<Result>) =>
    translating(work, (error) => toFinalError(error, dialect.errors))
  const withClient = <Result>(work: (client: pg.Client) => Promise<Result>) =>
    final(() => runOnOwnConnection(url, options, work))
  return {
    ...createQueryable(dialect, createDriver(statements.send), toFinalError),
    transaction: (work) =>
      runTransaction(
        (afterCommit) =>
          transact(pool, (send) =>
            work({ ...createQueryable(dialect, createDriver(send), toAppError), afterCommit }),
          ),
        dialect.errors,
      ),
    // Migrations may take long, so these two have no time limit.
    runScript: (sql) => withClient(async (client) => void (await client.query(sql))),
    withLock: (name, work) =>
      withClient(async (client) => {
        await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [name])
        return work()
      }),
    usage: () => ({
      inUse: pool.totalCount - pool.idleCount,
      waiting: pool.waitingCount + statements.size(),
    }),
    close: () => pool.end(),
  }
}

function openPool(url: string, options: Options & DatabaseOptions): pg.Pool {
  const { poolSize, statementTimeoutMs, connectTimeoutMs, onConnectionError } = options
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    // A connection with a statement that is not answered in time is dropped: what waits behind that fails too.
    query_timeout: statementTimeoutMs,
    pipeline: true,
    keepAlive: true,
    application_name: 'latchkey',
    types,
    onConnect: (client) =>
      client.query(`${SESSION}; set statement_timeout = ${serverTimeoutMs(statementTimeoutMs)}`),
  })
  const report = (error: Error) => onConnectionError?.(error)
  pool.on('error', report)
  // Without a listener on each client, one that breaks while it is checked out ends the process.
  pool.on('connect', (client) => client.on('error', report))
  return pool
}

const createDriver = (send: Send): Driver => ({
  query: async (statement, values) => (await send({ ...statement, values: [...values] })).rows,
  execute: async (statement, values) => (await send({ ...statement, values: [...values] })).rowCount ?? 0,
})

/** `begin` leaves together with the first statement of `work`. */
async function transact<Result>(pool: pg.Pool, work: (send: Send) => Promise<Result>): Promise<Result> {
  const client = await pool.connect()
  const refusal = createRefusal()
  const send: Send = async (query) => {
    refusal.check()
    try {
      return await client.query(query)
    } catch (error) {
      // What was sent behind a statement that failed fails with "current transaction is aborted".
      throw refusal.record(error)
    }
  }
  try {
    const [begun, working] = sendTogether(client, () => [client.query('begin'), work(send)])
    begun.catch(() => undefined) // Awaited below.
    const result = await working
    await begun
    refusal.end()
    await client.query('commit')
    return result
  } catch (error) {
    refusal.end()
    // A broken connection cannot roll back, and need not: the server does.
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    release(client)
  }
}

/** Runs `work` on a separate connection, so that a pool of one does not wait for itself; its end frees its locks. */
async function runOnOwnConnection<Result>(
  url: string,
  { connectTimeoutMs }: Options,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'latchkey',
  })
  client.on('error', () => undefined) // The pending statement reports the loss.
  await client.connect()
  try {
    await client.query(SESSION)
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
