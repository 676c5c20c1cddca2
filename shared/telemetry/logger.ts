import { type DestinationStream, type Logger, pino } from 'pino'
import { AppError } from '../errors/app-error.ts'
import { rootReason } from '../errors/root-reason.ts'

/** Properties whose values never reach a log, at the top level or one or two levels below. */
const SECRET_NAMES = [
  'password',
  'token',
  'refresh_token',
  'code',
  'authorization',
  'cookie',
  'secret',
  'variables',
  'connectionString',
]

const REDACTED_PATHS = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

/** The depth to which a chain of causes is logged; an error may be its own cause. */
const MAX_DEPTH = 4

/**
 * Creates a service's logger: JSON lines on standard output, with secrets redacted by path and errors reduced to the
 * fields of `describeError`. `mixin` gives further fields of each line.
 */
export function createLogger(
  service: string,
  level: string,
  destination?: DestinationStream,
  mixin?: () => object,
): Logger {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => describeError(error) },
    redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
    ...(mixin ? { mixin } : {}),
  }
  return destination ? pino(options, destination) : pino(options)
}

/**
 * The fields of an error that are logged, and no others: libraries attach the whole command (ioredis), the statement with
 * its values (mysql2), the row (pg) or the address that did not parse (Node).
 */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error)
  // An outage of a server is not a bug: where it was noticed says nothing.
  if (error instanceof AppError && error.dependency)
    return { type: error.name, message: error.message, reason: rootReason(error) }
  const { name, message, stack, cause } = error
  const errors = error instanceof AggregateError ? error.errors : undefined
  const isDeepest = depth === MAX_DEPTH
  return {
    type: error.constructor.name || name,
    message,
    // Not `code`, which is redacted: elsewhere it is a reset code.
    errorCode: 'code' in error ? String(error.code) : undefined,
    stack,
    cause: cause === undefined || isDeepest ? undefined : describeError(cause, depth + 1),
    errors: isDeepest ? undefined : errors?.map((each) => describeError(each, depth + 1)),
  }
}
