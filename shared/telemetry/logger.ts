import { type DestinationStream, type Logger, pino } from 'pino'

/** Names of properties whose values never reach a log, wherever they occur one or two levels deep. */
const SECRET_NAMES = [
  'password',
  'token',
  'code',
  'authorization',
  'cookie',
  'secret',
  'variables',
  'connectionString',
]

const REDACTED_PATHS = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

/** A service's logger: JSON lines to standard output, secrets redacted by path. */
export function createLogger(service: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
  }
  return destination ? pino(options, destination) : pino(options)
}
