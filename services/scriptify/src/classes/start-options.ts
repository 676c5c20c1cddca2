import { fileURLToPath } from 'node:url'
import { CliError, EXIT } from '../io/cli-error.ts'
import { SETTINGS } from '../scriptify-settings.ts'

const UNLIMITED = '-1'
const MEGABYTES_PER_UNIT: Record<string, number> = { '': 1 / 1024 ** 2, K: 1 / 1024, M: 1, G: 1024 }
/** The smallest heap with which Node starts. */
const MIN_MEGABYTES = 32

export interface MemoryLimit {
  /** The limit in php's notation. */
  text: string
  /** The limit in megabytes; undefined means unlimited. */
  megabytes: number | undefined
}

/**
 * Reads SCRIPTIFY_MEMORY_LIMIT in php's notation: 256M, 1G, bytes, or -1 for unlimited. Undefined when unset; throws a
 * CliError (2) for anything else.
 */
export function readMemoryLimit(env: NodeJS.ProcessEnv): MemoryLimit | undefined {
  const { name } = SETTINGS.memoryLimit
  const text = env[name]
  if (!text) return undefined
  if (text === UNLIMITED) return { text, megabytes: undefined }
  const [, digits, unit = ''] = /^([1-9]\d{0,14})([KMG]?)$/i.exec(text) ?? []
  if (digits === undefined) {
    throw new CliError(
      `${name} must be like 256M or 1G, or -1 for unlimited, not ${JSON.stringify(text)}`,
      EXIT.usage,
    )
  }
  const megabytes = Math.round(Number(digits) * (MEGABYTES_PER_UNIT[unit.toUpperCase()] ?? 1))
  return { text, megabytes: Math.max(MIN_MEGABYTES, megabytes) }
}

/** Keeps Node's own warnings out of what the project's code writes to stderr. */
export const QUIET = [
  '--disable-warning=ExperimentalWarning',
  // A project without "type" in its package.json would be warned about at every start.
  '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
]

/** Keeps what Node compiles in the home of the user, for a faster start. */
export const COMPILE_CACHE = [
  '--require',
  fileURLToPath(new URL('../../bin/compile-cache.cjs', import.meta.url)),
]

/** Output of the project's code goes to stdout, php's own messages go to stderr. */
const INI_SETTINGS = ['display_errors=stderr', 'html_errors=0']

/** php's options for our ini settings and these, each `name=value`. */
export const iniOptions = (settings: readonly string[]): string[] =>
  [...INI_SETTINGS, ...settings].flatMap((setting) => ['-d', setting])
