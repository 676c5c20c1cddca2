export type Dialect = 'postgres' | 'mysql'

/**
 * One prepared statement. `text` is written with `$1`, `$2` …; `mysql` stands beside it where MySQL and MariaDB
 * want other words, with the same placeholders. The name identifies it on the server and in traces.
 */
export interface Statement {
  readonly name: string
  readonly text: string
  readonly mysql?: string
}

export type SqlValue = string | number | boolean | Date | Uint8Array | null

/** What runs statements: the pool, or one transaction. Throws `unavailable` when the server cannot be reached. */
export interface Queryable {
  readonly dialect: Dialect
  query<Row extends object>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]>
  /** Runs a statement that changes rows; returns how many rows it matched. */
  execute(statement: Statement, values?: readonly SqlValue[]): Promise<number>
  /** A UUID as this database takes it as a value. */
  toUuidValue(uuid: string): SqlValue
  /** The canonical lower-case text of a UUID that this database returned. */
  fromUuidValue(value: unknown): string
}

export interface Transaction extends Queryable {
  /** Runs `work` once this transaction has committed, and never when it is rolled back. `work` must not throw. */
  afterCommit(work: () => void): void
}

export interface Database extends Queryable {
  /** Runs `work` in one transaction: all or nothing. Repeated when the server ended it as a deadlock's victim. */
  transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result>
  /** Runs SQL text of several statements as it stands: migrations only. */
  runScript(sql: string): Promise<void>
  /** Holds the server's own lock called `name` while `work` runs; it ends with the connection, however that ends. */
  withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Connections kept at the most. */
  poolSize?: number
  /**
   * How long a statement may take before its connection is given up, in milliseconds; the server gives up a second
   * before. Default 15,000.
   */
  statementTimeoutMs?: number
  /** Told about a connection that broke while nobody used it. */
  onConnectionError?: (error: Error) => void
}

/** The unique index or constraint that a driver's error says was violated. */
export function violatedIndex(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, constraint, sqlMessage } = error as Error & {
    code?: string
    constraint?: string
    sqlMessage?: string
  }
  if (code === '23505') return constraint ?? 'unknown'
  // MySQL: Duplicate entry 'x' for key 'users.ix_email'; MariaDB names the key alone.
  if (code === 'ER_DUP_ENTRY')
    return /for key '(?:[^']*\.)?([^'.]+)'$/.exec(sqlMessage ?? '')?.[1] ?? 'unknown'
  return undefined
}
