import { Socket } from 'node:net'
import pg from 'pg'
import pgPromise from 'pg-promise'
import { type Database, type DatabaseOptions, DEFAULT_OPTIONS, type Dialect } from '../database.ts'
import { createQueryable, type Driver } from '../queryable.ts'
import { runTransaction } from '../run-transaction.ts'
import { serverTimeoutMs } from '../server-timeout.ts'
import { toAppError, toFinalError, translating } from '../to-app-error.ts'

const { PreparedStatement } = pgPromise
const pgp = pgPromise({ noWarnings: true, error: dropSilentConnection })

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
  const db = openPool(url, options)
  const final = <Result>(work: () => Promise<Result>) =>
    translating(work, (error) => toFinalError(error, dialect.errors))
  const withClient = <Result>(work: (client: pg.Client) => Promise<Result>) =>
    final(() => runOnOwnConnection(url, options, work))
  return {
    ...createQueryable(dialect, createDriver(db), toFinalError),
    transaction: (work) =>
      runTransaction(
        (afterCommit) =>
          db.tx((transaction) =>
            work({ ...createQueryable(dialect, createDriver(transaction), toAppError), afterCommit }),
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
    usage: () => ({ inUse: db.$pool.totalCount - db.$pool.idleCount, waiting: db.$pool.waitingCount }),
    close: () => db.$pool.end(),
  }
}

function openPool(url: string, options: Options & DatabaseOptions) {
  const { poolSize, statementTimeoutMs, connectTimeoutMs, onConnectionError } = options
  const pool = {
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs,
    keepAlive: true,
    application_name: 'latchkey',
    types,
    onConnect: (client: pg.ClientBase) =>
      client.query(`${SESSION}; set statement_timeout = ${serverTimeoutMs(statementTimeoutMs)}`),
  }
  const db = pgp(pool)
  db.$pool.on('error', (error: Error) => onConnectionError?.(error))
  return db
}

/** `pg` would keep a connection that did not answer, and the next statement or the rollback would wait on it too. */
function dropSilentConnection(error: Error, { client }: Partial<pgPromise.IEventContext>): void {
  const stream = client?.connection.stream
  if (error.message === 'Query read timeout' && stream instanceof Socket) stream.destroy(error)
}

function createDriver(db: pgPromise.IBaseProtocol<object>): Driver {
  return {
    query: (statement, values) => db.any(new PreparedStatement({ ...statement, values: [...values] })),
    execute: (statement, values) =>
      db.result(
        new PreparedStatement({ ...statement, values: [...values] }),
        undefined,
        ({ rowCount }) => rowCount,
      ),
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
