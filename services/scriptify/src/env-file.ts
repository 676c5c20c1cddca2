import { CliError } from './cli-error.ts'
import { EXIT } from './exit-codes.ts'

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const OWN_HEADER = /^# scriptify: managed /m
const ENTRY = /^[ \t]*(export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=(?:"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|([^\n]*))/

/** Renders variables as `NAME="value"` lines that sh, dash, bash and systemd read alike; throws on a bad name or NUL. */
export function renderEnvFile(variables: Record<string, string>): string {
  return Object.entries(variables)
    .map(([name, value]) => {
      if (!VARIABLE_NAME.test(name)) {
        throw new CliError(`Invalid environment name ${JSON.stringify(name)}`, EXIT.usage)
      }
      if (value.includes('\0')) {
        throw new CliError(`The value of ${name} contains a NUL byte`, EXIT.usage)
      }
      return `${name}="${value.replace(/[\\"$`]/g, '\\$&')}"\n`
    })
    .join('')
}

/** Reads what `renderEnvFile` writes, plain `NAME=value` lines, and the original's `export NAME=urlencoded`. */
export function parseEnvFile(text: string): Record<string, string> {
  const variables: Record<string, string> = {}
  // Only the original URL-encoded its values; ours may hold a literal %41.
  const isLegacy = !OWN_HEADER.test(text)
  let rest = text
  while (rest !== '') {
    const entry = ENTRY.exec(rest)
    const end = rest.indexOf('\n', entry?.[0].length ?? 0)
    if (entry) {
      const [, exported, name = '', quoted, single, bare = ''] = entry
      const value = quoted?.replace(/\\([\\"$`])/g, '$1') ?? single ?? bare.trim()
      variables[name] = exported && isLegacy ? decodeLegacy(value) : value
    }
    rest = end === -1 ? '' : rest.slice(end + 1)
  }
  return variables
}

function decodeLegacy(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value
  }
}
