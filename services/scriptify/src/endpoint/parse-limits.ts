import { CliError } from '../cli/cli-error.ts'
import { parseDuration } from '../cli/duration.ts'
import { EXIT } from '../cli/exit-codes.ts'

/** A day; Node's timers allow at most 24 days. */
const MAX_TIMEOUT_SECONDS = 86_400
const MAX_REDIRECTS = 100
const MAX_TERMINAL_BYTES = 10 * 1024 ** 2

/** The numbers of the command line, unchecked. */
export interface LimitOptions {
  maxRedirects: string
  timeout: string
  maxBytes?: string
}

export interface Limits {
  maxRedirects: number
  timeoutMs: number
  maxBytes: number
}

/** Reads the numbers of the command line; by default a terminal gets 10 MiB of a body, a pipe all of it. */
export function parseLimits(given: LimitOptions, isTerminal: boolean): Limits {
  const seconds = parseDuration(given.timeout) ?? 0
  if (seconds <= 0 || seconds > MAX_TIMEOUT_SECONDS) {
    throw new CliError(
      `--timeout must be above 0 and at most ${MAX_TIMEOUT_SECONDS} seconds, such as 30, 500ms or 2m`,
      EXIT.usage,
    )
  }
  const maxBytes = isTerminal ? MAX_TERMINAL_BYTES : Number.POSITIVE_INFINITY
  return {
    maxRedirects: parseNumber('--max-redirects', given.maxRedirects, /^\d+$/, MAX_REDIRECTS),
    timeoutMs: Math.ceil(seconds * 1000),
    maxBytes:
      given.maxBytes === undefined
        ? maxBytes
        : parseNumber('--max-bytes', given.maxBytes, /^\d+$/, Number.MAX_SAFE_INTEGER),
  }
}

function parseNumber(option: string, text: string, form: RegExp, most: number): number {
  if (form.test(text) && Number(text) <= most) return Number(text)
  throw new CliError(`${option} must be a number from 0 to ${most}`, EXIT.usage)
}
