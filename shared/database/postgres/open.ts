import { setImmediate } from 'node:timers/promises'
import pgPromise, { type IDatabase, type IResultExt, type ITask } from 'pg-promise'
import {
  type Database,
  type DatabaseOptions,
  DEFAULT_OPTIONS,
  type Dialect,
  lockTimeoutMs,
  type PoolUsage,
  serverTimeoutMs,
} from '../database.ts'
import { readOnlyServer } from '../ping.ts'
import { createQueryable, type Driver } from '../queryable.ts'
import {
  createTransactionState,
  repeatingStatements,
  runTransaction,
  transactionEnd,
} from '../run-transaction.ts'
import { createTake } from '../take-connection.ts'
import { endsConnection, noneFree, toAppError, toFinalError, translating } from '../to-app-error.ts'
import { pollLock, whileHeld } from '../wait-for-lock.ts'
import { postgresErrors } from './errors.ts'
import { runPostgresScript, SCRIPT_NAME } from './run-script.ts'
import {
  IS_READ_ONLY,
  READ_CONNECTION_SETTINGS,
  requireConnectionSettings,
  setIfDirect,
  withStartUp,
} from './start-up.ts'

/** `timestamp` columns of an adopted database contain UTC, as ours do; `pg` would read them as local time. */
const TIMESTAMP_OID = 1114
const TIMESTAMPTZ_OID = 1184

/** Statements of one connection at a time. More would gain little, and wait for one another. */
const MAX_STATEMENTS = 16

const parseUtc = (text: string) => new Date(`${text.replace(' ', 'T')}Z`)

/** `pg` reads a time of another style as null, which would mean *not deleted*; an invalid date is refused. */
const invalidForNull = (parse: (text: string) => unknown) => (text: string) =>
  parse(text) ?? new Date(Number.NaN)

/** Another isolation would be a default of the server, the database or the login. */
const READ_COMMITTED = new pgPromise.txMode.TransactionMode({
  tiLevel: pgPromise.txMode.isolationLevel.readCommitted,
})

/** A client of pg, as pg-promise passes it on. */
interface DatabaseClient {
  on(event: 'error', listener: (error: Error) => void): unknown
  query(sql: string): Promise<IResultExt<{ is_read_only: boolean; settings: Record<string, string> }>>
}
type Options = Required<Omit<DatabaseOptions, 'onConnectionError'>> & DatabaseOptions
type Prepared = { name: string; text: string; values: unknown[] }
type Connection = Awaited<ReturnType<IDatabase<object>['connect']>>
type Take = () => Promise<Connection>
type Send = (query: Prepared) => Promise<IResultExt>

export function openPostgres(dialect: Dialect, url: string, given: DatabaseOptions): Database {
  const options: Options = { ...DEFAULT_OPTIONS, ...given }
  const { pool, beside, unlimited } = openPools(url, options)
  const take = takingFrom(pool, options.poolSize)
  const withFinalErrors = <Result>(work: () => Promise<Result>) =>
    translating(work, (error) => toFinalError(error, dialect.errors))
  return {
    ...createQueryable(
      dialect,
      repeatingStatements(createDriver(collectTurns(take)), dialect.errors),
      toFinalError,
    ),
    transaction: (work) =>
      runTransaction(
        (afterCommit) =>
          withConnection(take, (connection) =>
            connection.tx({ mode: READ_COMMITTED }, async (task) => {
              const state = createTransactionState()
              try {
                const driver = createDriver(sendIn(task, state))
                return await work({ ...createQueryable(dialect, driver, toAppError), afterCommit })
              } finally {
                state.end(transactionEnd())
              }
            }),
          ),
        dialect.errors,
      ),
    runScript: (sql, waits) =>
      withFinalErrors(async () =>
        waits
          ? runPostgresScript(sql, waits, { scripts: unlimited, pool })
          : void (await unlimited.multi(sql)),
      ),
    withLock: (name, work, onWait) =>
      withFinalErrors(async () => {
        // A separate connection: its end frees the lock, and a pool of one does not wait for itself.
        const connection = await unlimited.connect({ direct: true })
        try {
          await pollLock(name, () => takeLock(connection, name), onWait)
          const isHeld = () => connection.any('select').then(() => true)
          const result = await whileHeld(name, isHeld, work)
          await connection.any('commit')
          return result
        } finally {
          await connection.done()
        }
      }),
    usage: () => usageOf(pool),
    queryBeside: (statement) =>
      createQueryable(
        dialect,
        createDriver((query) => beside.result(query)),
        toAppError,
      ).query(statement),
    close: async () => void (await Promise.all([pool, beside, unlimited].map(({ $pool }) => $pool.end()))),
  }
}

/**
 * Takes the lock, or returns who has it. It does not wait for it: a statement that waits has a snapshot, for whose end an
 * index that is built concurrently waits. In a transaction, which keeps its connection to the server where a pooler is in
 * between.
 */
async function takeLock(connection: Connection, name: string): Promise<string | undefined> {
  await connection.multi(BEGIN_LOCK)
  const { is_taken: isTaken } = await connection.one(
    'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as is_taken',
    name,
  )
  if (isTaken) return undefined
  await connection.any('rollback')
  const [holder] = await connection.any(FIND_LOCK_HOLDER, name)
  return holder ? `pid ${holder.pid}` : 'it was freed'
}

const FIND_LOCK_HOLDER = `select pid from pg_locks where locktype = 'advisory' and granted
  and database = (select oid from pg_database where datname = current_database())
  and (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0)`

/** The transaction has no time limits; it sees other transactions as they commit, and keeps no old rows. */
const BEGIN_LOCK = `begin isolation level read committed;
  set local statement_timeout = 0; set local lock_timeout = 0; set local idle_in_transaction_session_timeout = 0`

const usageOf = ({ $pool }: IDatabase<object>): PoolUsage => ({
  inUse: $pool.totalCount - $pool.idleCount,
  waiting: $pool.waitingCount,
})

/**
 * `pool` runs what requests need. The other two connect when they are used: `beside` for what must not wait for `pool`, and
 * `unlimited` without a time limit, because migrations may take long.
 */
function openPools(
  url: string,
  { poolSize, statementTimeoutMs, connectTimeoutMs, onConnectionError }: Options,
) {
  const connect = pgPromise({ noWarnings: true })
  const types = {
    ...connect.pg.types,
    getTypeParser(oid: number, format: 'text') {
      if (oid === TIMESTAMP_OID) return parseUtc
      const parse = connect.pg.types.getTypeParser(oid, format)
      return oid === TIMESTAMPTZ_OID ? invalidForNull(parse) : parse
    },
  }
  const shared = {
    application_name: 'latchkey',
    ...withStartUp(url),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  }
  const prepareWith =
    (timeLimitMs: number, lockLimitMs = 0) =>
    async (client: DatabaseClient) => {
      // Without a listener, a connection that breaks between two tasks ends the process.
      client.on('error', (error) => onConnectionError?.(error))
      // Behind a pooler the server has its own time limit, since what is set here would stay with another client.
      const { rows } = await client.query(
        `select ${IS_READ_ONLY} as is_read_only, ${READ_CONNECTION_SETTINGS} as settings,
        ${setIfDirect(client, { statement_timeout: String(timeLimitMs), lock_timeout: String(lockLimitMs) })}`,
      )
      const { is_read_only: isReadOnly = true, settings = {} } = rows[0] ?? {}
      if (isReadOnly) throw readOnlyServer()
      requireConnectionSettings(settings)
    }
  const pool = {
    ...shared,
    max: poolSize,
    // A connection with a statement that is not answered in time is dropped: what waits behind that fails too.
    query_timeout: statementTimeoutMs,
    pipeline: true,
    types,
    onConnect: prepareWith(serverTimeoutMs(statementTimeoutMs), lockTimeoutMs(statementTimeoutMs)),
  }
  const unlimited = {
    ...shared,
    application_name: SCRIPT_NAME,
    max: 1,
    onConnect: prepareWith(0),
  }
  const pools = { pool: connect(pool), beside: connect({ ...pool, max: 1 }), unlimited: connect(unlimited) }
  // pg-promise stops to listen when a pool ends, while its connections may still break.
  for (const { $pool } of Object.values(pools)) $pool.on('error', () => undefined)
  return pools
}

const createDriver = (send: Send): Driver => ({
  query: async (statement, values) => (await send({ ...statement, values: [...values] })).rows as object[],
  execute: async (statement, values) => (await send({ ...statement, values: [...values] })).rowCount,
})

interface Waiting {
  query: Prepared
  resolve: (result: IResultExt) => void
  reject: (error: unknown) => void
}

/**
 * Sends the statements that arrive in the same turn of the event loop over one connection, without waiting for an answer
 * in between: without it the bench row "profile, read" has half the answers a second. Each statement is a transaction by
 * itself.
 */
function collectTurns(take: Take): Send {
  const turn: Waiting[] = []

  function sendTurn(): void {
    while (turn.length > 0) {
      const some = turn.splice(0, MAX_STATEMENTS)
      withConnection(take, (connection) => sendAll(connection, some)).catch((error) => {
        for (const { reject } of some) reject(error)
      })
    }
  }

  return (query) =>
    new Promise((resolve, reject) => {
      if (turn.push({ query, resolve, reject }) === 1) void setImmediate().then(sendTurn)
    })
}

/** Runs a statement in a transaction, and none after one that failed or after the end. */
const sendIn =
  (task: ITask<object>, { requireOpen, end }: ReturnType<typeof createTransactionState>): Send =>
  async (query) => {
    requireOpen()
    return task.result(query).catch((error) => {
      // Statements that were sent behind one that failed fail with "current transaction is aborted".
      throw end(error)
    })
  }

/** Sends all statements at once. Each one settles by itself; throws an error after which the connection is unusable. */
async function sendAll(connection: Connection, some: readonly Waiting[]): Promise<void> {
  const sent = some.map(({ query, resolve, reject }) => {
    const result = connection.result(query)
    result.then(resolve, reject)
    return result
  })
  for (const outcome of await Promise.allSettled(sent))
    if (outcome.status === 'rejected' && endsConnection(outcome.reason, postgresErrors)) throw outcome.reason
}

/** Runs `work` on a connection of the pool, which closes one that must not be used again. */
async function withConnection<Result>(
  take: Take,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await take()
  let isUnusable = false
  try {
    return await work(connection)
  } catch (error) {
    isUnusable = endsConnection(error, postgresErrors)
    throw error
  } finally {
    await connection.done(isUnusable)
  }
}

function takingFrom(pool: IDatabase<object>, size: number): Take {
  let opened = 0
  pool.$pool.on('connect', () => void opened++)
  pool.$pool.on('remove', () => void opened--)
  return createTake(
    {
      take: () =>
        pool.connect().catch((error: unknown) => {
          // pg gives no code where no connection became free.
          const isNoneFree =
            error instanceof Error && error.message === 'timeout exceeded when trying to connect'
          throw isNoneFree ? noneFree(usageOf(pool), size) : error
        }),
      open: () => opened,
      limit: (connections) => {
        pool.$pool.options.max = connections
      },
      size,
    },
    postgresErrors,
  )
}
