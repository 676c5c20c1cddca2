import { InvalidArgumentError } from 'commander'
import { parseDuration } from '../duration.ts'

/** A longer interval is a schedule. */
const MAX_SECONDS = 86_400

/** Parses the value of --interval, for `run` and for services. */
export function parseSeconds(text: string): number {
  const seconds = parseDuration(text)
  if (seconds !== undefined && seconds <= MAX_SECONDS) return seconds
  throw new InvalidArgumentError(`Give seconds from 0 to ${MAX_SECONDS}, or a time such as 500ms, 5s or 2m.`)
}
