import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'

const UNLIMITED = '-1'
const FACTORS: Record<string, number> = { '': 1 / 1024 ** 2, K: 1 / 1024, M: 1, G: 1024 }

export interface MemoryLimit {
  /** As php reads it. */
  text: string
  /** Undefined for no limit. */
  megabytes: number | undefined
}

/** Reads SCRIPTIFY_MEMORY_LIMIT, in php's notation: 256M, 1G, bytes, -1 for none; undefined when unset, throws 2 for else. */
export function readMemoryLimit({
  SCRIPTIFY_MEMORY_LIMIT: text,
}: NodeJS.ProcessEnv): MemoryLimit | undefined {
  if (!text) return undefined
  if (text === UNLIMITED) return { text, megabytes: undefined }
  const [, digits, unit = ''] = /^([1-9]\d{0,14})([KMG]?)$/i.exec(text) ?? []
  if (digits === undefined) {
    throw new CliError(
      `SCRIPTIFY_MEMORY_LIMIT must be like 256M or 1G, or -1 for none, not ${JSON.stringify(text)}`,
      EXIT.usage,
    )
  }
  // Node does not start with less.
  const megabytes = Math.max(32, Math.round(Number(digits) * (FACTORS[unit.toUpperCase()] ?? 1)))
  return { text, megabytes }
}
