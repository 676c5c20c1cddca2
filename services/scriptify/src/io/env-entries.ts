import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { CliError, EXIT, errorCode } from './cli-error.ts'

/** Reads the files of `--env-file`, as Node does; the last of a name counts. Throws exit code 3 or 4 for one that cannot be read. */
export const readEnvFiles = (paths: readonly string[]): Record<string, string> =>
  Object.assign({}, ...paths.map((path) => parseEnv(readEnvFile(path))))

function readEnvFile(path: string): string {
  try {
    // Node would take a byte order mark for a part of the first name.
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EACCES')
      throw new CliError(`--env-file ${path} may not be read by this user`, EXIT.notPermitted)
    throw new CliError(`--env-file ${path} is not a file that can be read`, EXIT.notFound)
  }
}

/**
 * Reads `--env` entries: splits at the first `=`, takes values literally, and the last of a name counts. Throws exit code 2
 * for a bad entry, without its value, which may be a secret.
 */
export function parseEnvEntries(entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(entries.map(parseEnvEntry))
}

function parseEnvEntry(entry: string, index: number): [name: string, value: string] {
  const usageError = (reason: string) => new CliError(`--env needs NAME=VALUE: ${reason}`, EXIT.usage)
  const end = entry.indexOf('=')
  if (end === -1) throw usageError(`number ${index + 1} has no =`)
  const [name, value] = [entry.slice(0, end), entry.slice(end + 1)]
  if (!/^[A-Za-z_]\w*$/.test(name)) throw usageError(`${JSON.stringify(name)} is not letters, digits and _`)
  if (value.includes('\0')) throw usageError(`the value of ${name} contains a NUL byte`)
  return [name, value]
}
