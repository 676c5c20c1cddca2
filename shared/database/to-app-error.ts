import { AppError } from '../errors/app-error.ts'
import type { DriverErrors, PoolUsage } from './database.ts'

/** Codes of Node and mysql2 for a server that cannot be reached, or whose certificate is not trusted. */
const UNREACHABLE =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|HANDSHAKE_\w+|(CERT|ERR_TLS|ERR_SSL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)_\w+)$/

/** The code of Latchkey's own error: no connection of the pool became free. */
const NONE_FREE = 'NO_FREE_CONNECTION'

const RETRY_AFTER_SECONDS = 2

/** Messages to callers, by the state that the check of the database reports. */
const MESSAGES = {
  unreachable: 'The database cannot be reached',
  'connections in use': 'The database is busy: no connection became free; try again',
  'server full': 'The database accepts no more connections; try again',
  locked: 'The database is busy: what the request needs is locked; try again',
  slow: 'The database does not answer in time; try again',
  conflict: 'The database is busy with other transactions; try again',
}

/** An unavailable database as `unavailable`, a refused value as `invalid_input`; any other error as it is. */
export function toAppError(error: unknown, errors: DriverErrors): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error
  const codes = codesOf(error)
  const has = (pattern: RegExp) => codes.some((code) => pattern.test(code))
  if (has(errors.refusedValue)) {
    return new AppError('invalid_input', 'The database cannot store one of the values', { cause: error })
  }
  const state = busyState(error, errors)
  if (state) return unavailable(state, error)
  if (has(UNREACHABLE) || has(errors.unavailable) || errors.unavailableMessage?.test(error.message)) {
    return unavailable('unreachable', error)
  }
  return error
}

/** The error of a caller that waited for one of `size` connections. */
export const noneFree = ({ inUse }: PoolUsage, size: number): Error =>
  Object.assign(new Error(`${inUse} of ${size} connections in use`), { code: NONE_FREE })

/** Returns the state that the check of the database reports where the server answers, but is too busy for a statement. */
function busyState(
  error: Error,
  errors: DriverErrors,
): 'connections in use' | keyof DriverErrors['busy'] | undefined {
  const texts = [...codesOf(error), error.message]
  if (texts.includes(NONE_FREE)) return 'connections in use'
  const states = ['server full', 'locked', 'slow'] as const
  return states.find((state) => texts.some((text) => errors.busy[state].test(text)))
}

/** True where the server refused a connection because it has as many as it may have. */
export const isFull = (error: unknown, errors: DriverErrors): boolean =>
  error instanceof Error && busyState(error, errors) === 'server full'

/** `toAppError` for a transaction that is not repeated any more. */
export const toFinalError = (error: unknown, errors: DriverErrors): unknown =>
  isConflict(error, errors) ? unavailable('conflict', error) : toAppError(error, errors)

/** True where the transaction that ended with `error` can succeed when it is repeated. */
export const isConflict = (error: unknown, errors: DriverErrors): boolean =>
  codesOf(error).some((code) => errors.conflict.test(code))

/** True where the connection of `error` must not be used again. An `AppError` has the driver's error as its cause. */
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

export const unavailable = (state: keyof typeof MESSAGES, cause: unknown): AppError =>
  new AppError('unavailable', MESSAGES[state], {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    dependency: 'database',
    // Of the other failures the check itself says whether the database can be reached.
    ...(state === 'unreachable' || state === 'conflict' ? {} : { state }),
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
