import { InvalidArgumentError } from 'commander'

/** A longer interval is a schedule. */
const MAX_SECONDS = 86_400

/** Parses the value of --interval, for `run` and for services. */
export function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && seconds <= MAX_SECONDS) return seconds
  throw new InvalidArgumentError(`Give seconds from 0 to ${MAX_SECONDS}.`)
}
