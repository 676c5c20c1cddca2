import { AppError } from '../app-error.ts'
import type { DriverErrors } from './database.ts'

/** What Node and mysql2 report where the server cannot be reached, or is not one whose certificate is trusted. */
const UNREACHABLE =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|HANDSHAKE_\w+|(CERT|ERR_TLS|ERR_SSL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)_\w+)$/

const RETRY_AFTER_SECONDS = 2

/** An unavailable database as `unavailable`, a refused value as `invalid_input`; any other error as it is. */
export function toAppError(error: unknown, errors: DriverErrors): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error
  const codes = codesOf(error)
  const has = (pattern: RegExp) => codes.some((code) => pattern.test(code))
  if (has(errors.refusedValue)) {
    return new AppError('invalid_input', 'The database cannot store one of the values', { cause: error })
  }
  if (has(UNREACHABLE) || has(errors.unavailable) || errors.unavailableMessage?.test(error.message)) {
    return unavailable('The database cannot be reached', error)
  }
  return error
}

/** `toAppError` for a transaction that is not repeated any more. */
export const toFinalError = (error: unknown, errors: DriverErrors): unknown =>
  isConflict(error, errors)
    ? unavailable('The database is busy with other transactions; try again', error)
    : toAppError(error, errors)

/** Whether the transaction that ended with `error` can succeed when it is repeated. */
export const isConflict = (error: unknown, errors: DriverErrors): boolean =>
  codesOf(error).some((code) => errors.conflict.test(code))

/** Whether the connection on which `error` occurred must not be used again. An `AppError` has the driver's error as its cause. */
export const endsConnection = (error: unknown, errors: DriverErrors): boolean =>
  error instanceof Error &&
  ([...codesOf(error), error.message].some((text) => errors.endsConnection.test(text)) ||
    endsConnection(error.cause, errors))

/** Rejects with what `translate` makes of the error of `work`. */
export async function translating<Result>(
  work: () => Promise<Result>,
  translate: (error: unknown) => unknown,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw translate(error)
  }
}

const unavailable = (message: string, cause: unknown): AppError =>
  new AppError('unavailable', message, {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    dependency: 'database',
  })

/** The codes of an error: Node's or the driver's, SQLSTATE, and those of the addresses that were tried. */
function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const codes: unknown[] = [
    'code' in error ? error.code : undefined,
    'sqlState' in error ? error.sqlState : undefined,
  ]
  const nested = error instanceof AggregateError ? error.errors.flatMap(codesOf) : []
  return [...codes.filter((code) => typeof code === 'string'), ...nested]
}
