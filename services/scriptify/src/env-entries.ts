import { CliError } from './cli-error.ts'
import { EXIT } from './exit-codes.ts'

/** Reads `--env` entries: split at the first `=`, values literally, the last of a name wins; throws 2 on a bad one. */
export function parseEnvEntries(entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(entries.map(parseEnvEntry))
}

/** Splits one entry. */
function parseEnvEntry(entry: string): [name: string, value: string] {
  const [, name, value] = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(entry) ?? []
  if (name === undefined || value === undefined || value.includes('\0')) {
    throw new CliError(`--env wants NAME=VALUE, not ${JSON.stringify(entry)}`, EXIT.usage)
  }
  return [name, value]
}
