import { InvalidArgumentError } from 'commander'

const SECONDS_PER_UNIT: Record<string, number> = { ms: 1 / 1000, s: 1, m: 60, h: 3600 }
const MAX_SECONDS = 86_400

/** Parses a repeatable option: all its values, in order. */
export const collect = (value: string, values: string[] = []): string[] => [...values, value]

/** Parses a time of at most a day, such as `5`, `5s`, `500ms` or `2m`, in seconds. */
export function parseSeconds(text: string): number {
  const [, number, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? []
  const seconds = Number(number) * (SECONDS_PER_UNIT[unit] ?? 1)
  if (seconds <= MAX_SECONDS) return seconds
  throw new InvalidArgumentError(`Give seconds from 0 to ${MAX_SECONDS}, or a time such as 500ms, 5s or 2m.`)
}

/** Returns a parser of whole numbers up to `most`. */
export const parseNumberUpTo =
  (most: number) =>
  (text: string): number => {
    if (/^\d+$/.test(text) && Number(text) <= most) return Number(text)
    throw new InvalidArgumentError(`Give a number from 0 to ${most}.`)
  }

const SECONDS_AGO: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Parses a time in the past: one such as `2h` ago, or in ISO 8601, of the machine's zone unless it names another. */
export function parseTimeBefore(text: string): Date {
  const [, number, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const isDate = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?(Z|[+-]\d\d:?\d\d)?$/.test(text)
  // A date alone would be one of UTC.
  const date = text.length === 10 ? `${text} 00:00` : text
  const time =
    number === undefined
      ? Date.parse(isDate ? date : '')
      : Date.now() - Number(number) * (SECONDS_AGO[unit] ?? 1) * 1000
  if (!Number.isNaN(time)) return new Date(time)
  throw new InvalidArgumentError('Give a time such as 30m, 2h, 1d, 2026-11-28 or 2026-11-28 03:00.')
}
