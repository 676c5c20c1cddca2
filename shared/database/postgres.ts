import { Socket } from 'node:net'
import pg from 'pg'
import pgPromise from 'pg-promise'
import type { Database, DatabaseOptions, Queryable, SqlValue, Statement } from './database.ts'
import { runTransaction } from './run-transaction.ts'
import { serverTimeoutMs } from './server-timeout.ts'
import { toAppError } from './unavailable.ts'

const { PreparedStatement } = pgPromise
const pgp = pgPromise({ noWarnings: true, error: dropSilent })

/** SQLSTATE deadlock_detected and serialization_failure. */
const DEADLOCKS = new Set(['40P01', '40001'])

/** `timestamp` columns of an adopted database hold UTC, as ours do; `pg` would read them as local time. */
const TIMESTAMP_OID = 1114
const types = new pg.TypeOverrides()
types.setTypeParser(TIMESTAMP_OID, (text: string) => new Date(`${text.replace(' ', 'T')}Z`))

/**
 * And what the server writes there by its own clock is UTC, as on MySQL. A statement, because options of the start
 * would be lost to those of the URL, and some poolers refuse them.
 */
const SESSION = "set time zone 'UTC'"

/** Opens a pool on PostgreSQL. Connects at the first statement, and again after any loss. */
export function openPostgres(
  url: string,
  { poolSize = 10, statementTimeoutMs = 15_000, onConnectionError }: DatabaseOptions = {},
): Database {
  const pool = {
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 3_000,
    query_timeout: statementTimeoutMs,
    keepAlive: true,
    application_name: 'latchkey',
    types,
    onConnect: (client: pg.ClientBase) =>
      client.query(`${SESSION}; set statement_timeout = ${serverTimeoutMs(statementTimeoutMs)}`),
  }
  const db = pgp(pool)
  db.$pool.on('error', (error: Error) => onConnectionError?.(error))

  return {
    ...createQueryable(db),
    transaction: (work) =>
      guard(() =>
        runTransaction(
          (afterCommit) => db.tx((transaction) => work({ ...createQueryable(transaction), afterCommit })),
          (error) => DEADLOCKS.has(String((error as { code?: unknown }).code)),
        ),
      ),
    // Migrations may take long and wait long: on a connection of their own, without the pool's time limit.
    runScript: (sql) => guard(() => withClient(url, async (client) => void (await client.query(sql)))),
    withLock: (name, work) =>
      guard(() =>
        withClient(url, async (client) => {
          await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [name])
          return work()
        }),
      ),
    close: () => db.$pool.end(),
  }
}

/** `pg` would keep a connection that did not answer, and the next statement or the rollback would wait on it as well. */
function dropSilent(error: Error, { client }: Partial<pgPromise.IEventContext>): void {
  const stream = client?.connection.stream
  if (error.message === 'Query read timeout' && stream instanceof Socket) stream.destroy(error)
}

/** Ending the connection frees the session's lock. */
async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 3_000,
    application_name: 'latchkey',
  })
  client.on('error', () => undefined) // The statement in hand reports the loss.
  await client.connect()
  try {
    await client.query(SESSION)
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

function createQueryable(db: pgPromise.IBaseProtocol<object>): Queryable {
  const prepare = ({ name, text }: Statement, values: readonly SqlValue[]) =>
    new PreparedStatement({ name, text, values: [...values] })
  return {
    dialect: 'postgres',
    query: (statement, values = []) => guard(() => db.any(prepare(statement, values))),
    execute: (statement, values = []) =>
      guard(() => db.result(prepare(statement, values), undefined, (r) => r.rowCount)),
    toUuidValue: (uuid) => uuid,
    fromUuidValue: (value) => String(value),
  }
}

async function guard<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw toAppError(error)
  }
}
