import { AppError } from '../app-error.ts'

/** What Node, the servers (SQLSTATE) and mysql2 say when the server is away, stopping, starting, full or too slow. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08000',
  '08001',
  '08003',
  '08006',
  '70100',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ER_SERVER_SHUTDOWN',
  'ER_CON_COUNT_ERROR',
  'ER_CONNECTION_KILLED',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_QUERY_TIMEOUT',
])

/** `pg` gives some losses of a connection as text alone. */
const UNAVAILABLE_MESSAGE =
  /Connection terminated|timeout exceeded when trying to connect|Connection ended unexpectedly|Client has encountered a connection error|closed state|Query read timeout|Pool is closed/i

/** A value that the column cannot hold: too long, or not of its character set. */
const REFUSED_VALUES: ReadonlySet<string> = new Set([
  '22001',
  '22021',
  '22P05',
  'ER_DATA_TOO_LONG',
  'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD',
])

/** Turns the loss of the database into `unavailable`, a refused value into `invalid_input`; the rest stays as it is. */
export function toAppError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error
  const code = 'code' in error ? String(error.code) : ''
  if (REFUSED_VALUES.has(code)) {
    return new AppError('invalid_input', 'The database cannot store one of the values', { cause: error })
  }
  // MariaDB has errors that mysql2 has no name for.
  const sqlState = 'sqlState' in error ? String(error.sqlState) : ''
  const nested = error instanceof AggregateError ? error.errors.map((each) => String(each?.code)) : []
  const isUnavailable =
    [code, sqlState, ...nested].some((each) => UNAVAILABLE.has(each)) ||
    UNAVAILABLE_MESSAGE.test(error.message)
  if (!isUnavailable) return error
  return new AppError('unavailable', 'The database cannot be reached', { cause: error, retryAfterSeconds: 2 })
}
