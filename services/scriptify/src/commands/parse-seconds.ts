import { InvalidArgumentError } from 'commander'

/** More than a day is a schedule. */
const MOST_SECONDS = 86_400

/** Reads the value of --interval, for `run` and for the services that call it. */
export function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && seconds <= MOST_SECONDS) return seconds
  throw new InvalidArgumentError(`Give seconds from 0 to ${MOST_SECONDS}.`)
}
