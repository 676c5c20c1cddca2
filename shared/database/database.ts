import type { Adoption, Difference, TextFault } from './adoption/adoption.ts'
import type { LockWaits } from './wait-for-lock.ts'

/** The name of a dialect, which is also the name of its folder below `migrations/`. */
export type DialectName = 'postgres' | 'mysql'

/** One prepared statement. */
export interface Statement {
  /** Identifies the statement on the server and in traces. */
  readonly name: string
  /** SQL with the placeholders `$1`, `$2` …; one text for each dialect where databases differ. */
  readonly text: string | Readonly<Record<DialectName, string>>
}

export type SqlValue = string | number | boolean | Date | Uint8Array | null
/** One value; or a list, for `= any($1)` of PostgreSQL and `in ($1)` of MySQL; or the rows of `insertRows`. */
export type SqlParameter = SqlValue | readonly SqlValue[] | readonly (readonly SqlValue[])[]

/** One kind of database. Its folder has what is specific to it, except its migrations and the texts of statements. */
export interface Dialect {
  readonly name: DialectName
  /** Schemes of its URLs, without the colon. */
  readonly protocols: readonly string[]
  /** The adoption of tables that another program created; without it they are refused. */
  readonly adoption?: Adoption
  /** Finds why the database stores or folds texts in another way than Latchkey; absent where each column says it for itself. */
  findTextFault?(db: Queryable): Promise<TextFault | undefined>
  /** Finds the rights that the login lacks to create tables, and to change those in `changed`. */
  findMissingRights(db: Queryable, changed: readonly string[]): Promise<Difference[]>
  readonly errors: DriverErrors
  /** SQL for the login of a service; without it, every service connects as the owner of the tables. */
  readonly logins?: LoginSql
  /** A UUID as a value of a statement. */
  toUuidValue(uuid: string): SqlValue
  /** The canonical lower-case text of a UUID that a query returned. */
  fromUuidValue(value: unknown): string
  /** Many rows as the parameter of the statement of `insertRows`. */
  toRows(columns: readonly string[], rows: readonly (readonly SqlValue[])[]): SqlParameter
  /** Loads the driver and opens a pool; connects at the first statement, and again after any loss. */
  open(url: string, options: DatabaseOptions): Promise<Database>
}

/** The credentials of a service. */
export interface Login {
  user: string
  password: string
}

/** The rights of a login to the rows of a table, in the words of SQL's `grant`. */
export type Right = 'select' | 'insert' | 'update' | 'delete'

export interface Grant {
  table: string
  /** All rights that it has; others are revoked. */
  rights: readonly Right[]
}

export interface LoginSql {
  /** Creates a login that does not exist. */
  create(login: Login): string
  /** Leaves a login with these rights, without a moment in which it has fewer. */
  grant(login: Login, grants: readonly Grant[]): string
}

/** The meanings of a driver's errors. The patterns match the error's code or its SQLSTATE. */
export interface DriverErrors {
  /** The server is unreachable, starting or stopping, out of resources, or refuses the login. */
  readonly unavailable: RegExp
  /** The server answers, and cannot serve this statement now; by what the check of the database then says. */
  readonly busy: Readonly<Record<'server full' | 'locked' | 'slow', RegExp>>
  /** The same, where the driver gives a message only. */
  readonly unavailableMessage?: RegExp
  /**
   * The connection must not be used again: it gives no answer, the server ends it, or the server only reads. Matches the
   * message too.
   */
  readonly endsConnection: RegExp
  /** Another transaction was in the way; the same transaction can succeed when it is repeated. */
  readonly conflict: RegExp
  /** The column cannot store the value: too long, or not of its character set. */
  readonly refusedValue: RegExp
  /** The unique index or constraint that was violated. */
  violatedIndex(error: unknown): string | undefined
}

/** The pool or one transaction, which run statements. Throws `unavailable` and `invalid_input`. */
export interface Queryable extends Pick<Dialect, 'toUuidValue' | 'fromUuidValue'> {
  readonly dialect: Dialect
  query<Row extends object>(statement: Statement, values?: readonly SqlParameter[]): Promise<Row[]>
  /** Runs a statement that changes rows; returns how many rows it matched. */
  execute(statement: Statement, values?: readonly SqlParameter[]): Promise<number>
}

/**
 * One transaction. Its statements run in the order of their calls, also where none waits for the answer of another one.
 * PostgreSQL gets them without waiting for answers.
 */
export interface Transaction extends Queryable {
  /** Runs `work` once this transaction has committed, and never when it is rolled back. `work` must not throw. */
  afterCommit(work: () => void): void
}

export interface Database extends Queryable {
  /**
   * Runs `work` in one transaction, all or nothing. Repeats it for some seconds after a deadlock or a failed serialization,
   * as `query` and `execute` repeat a statement; then throws `unavailable`.
   */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>
  /**
   * Runs SQL text of one or several statements as it is, for migrations and logins of services. With `waits`, it waits for
   * locks as these say; without, for as long as they are held.
   */
  runScript(sql: string, waits?: LockWaits): Promise<void>
  /**
   * Runs `work` under the server's lock called `name`, which ends with its connection. `requireHeld` throws once it has ended;
   * `onWait` receives who has the lock.
   */
  withLock<Result>(
    name: string,
    work: (requireHeld: () => Promise<void>) => Promise<Result>,
    onWait?: (text: string) => void,
  ): Promise<Result>
  usage(): PoolUsage
  /** Runs a statement on a connection beside the pool, for what must not wait behind requests. */
  queryBeside<Row extends object>(statement: Statement): Promise<Row[]>
  close(): Promise<void>
}

/** The connections of the pool at this moment. */
export interface PoolUsage {
  /** Connections that run a statement or a transaction. */
  inUse: number
  /** Transactions, and statements of one turn of the event loop, that wait for a connection. */
  waiting: number
}

export interface DatabaseOptions {
  /** Connections at the same time. Default 10. */
  poolSize?: number
  /**
   * Time after which a statement fails and its connection is dropped, in milliseconds; the server stops the statement a
   * second before. Default 15,000.
   */
  statementTimeoutMs?: number
  /** Time to connect, and to wait for a free connection, in milliseconds. Default 3,000. */
  connectTimeoutMs?: number
  /** Receives the error of a connection that broke while it was idle. */
  onConnectionError?: (error: Error) => void
}

/**
 * Time limit on the server for a statement whose client waits for `clientTimeoutMs`, in milliseconds. The server has to
 * stop first: a statement that waits for a lock does not notice that its client has gone, and each new connection would
 * add another one.
 */
export const serverTimeoutMs = (clientTimeoutMs: number): number =>
  Math.max(clientTimeoutMs - 1_000, Math.ceil(clientTimeoutMs / 2))

/**
 * The time that a statement may wait for a lock, in milliseconds: it has a connection of the pool, which others need.
 */
export const lockTimeoutMs = (clientTimeoutMs: number): number =>
  Math.min(5_000, serverTimeoutMs(clientTimeoutMs) / 2)

/** The defaults of `DatabaseOptions`. */
export const DEFAULT_OPTIONS = { poolSize: 10, statementTimeoutMs: 15_000, connectTimeoutMs: 3_000 } as const

/** The unique index or constraint that `error`, thrown by a statement on `db`, reports as violated. */
export const violatedIndex = (db: Pick<Queryable, 'dialect'>, error: unknown): string | undefined =>
  db.dialect.errors.violatedIndex(error)
