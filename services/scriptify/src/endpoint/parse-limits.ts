import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'

const MEBIBYTE = 1024 ** 2
/** A day; timers of Node end at 24 of them. */
const LONGEST_SECONDS = 86_400
const MOST_REDIRECTS = 100

export interface Limits {
  maxRedirects: number
  timeoutMs: number
  maxBytes: number
}

/** Reads the numbers of the command line; nobody reads more than ten megabytes on a terminal, a pipe takes all. */
export function parseLimits(
  given: { maxRedirects: string; timeout: string; maxBytes?: string },
  isTerminal: boolean,
): Limits {
  const seconds = parseNumber('--timeout', given.timeout, /^\d+(\.\d+)?$/, LONGEST_SECONDS)
  if (seconds === 0) throw new CliError('--timeout must be above 0', EXIT.usage)
  const maxBytes = isTerminal ? 10 * MEBIBYTE : Number.POSITIVE_INFINITY
  return {
    maxRedirects: parseNumber('--max-redirects', given.maxRedirects, /^\d+$/, MOST_REDIRECTS),
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
