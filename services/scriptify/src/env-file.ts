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
  // Only the original URL-encoded its values; ours may hold a literal %41.
  const isLegacy = !OWN_HEADER.test(text)
  return Object.fromEntries(
    [...readPieces(text)]
      .filter((piece) => piece.name !== undefined)
      .map(({ name, value, isExported }) => [name, isExported && isLegacy ? decodeLegacy(value) : value]),
  )
}

/** The text with these variables in place of those of the same names; all else stays as somebody wrote it. */
export function layOverEnvFile(text: string, variables: Record<string, string>): string {
  const pieces = [...readPieces(text)]
  const isNew = ([name]: [string, string]) => pieces.every((piece) => piece.name !== name)
  const laid = pieces.map(({ name, source }) => {
    const value = name !== undefined && Object.hasOwn(variables, name) ? variables[name] : undefined
    return name === undefined || value === undefined ? source : renderEnvFile({ [name]: value })
  })
  const added = renderEnvFile(Object.fromEntries(Object.entries(variables).filter(isNew)))
  return laid.join('').replace(/[^\n]$/, '$&\n') + added
}

/** The header and the names alone: a value may be a secret, and so may a comment. */
export function maskEnvFile(text: string): string {
  return [...readPieces(text)]
    .map(({ name, source }) => {
      if (name !== undefined) return `${name}="…"\n`
      return OWN_HEADER.test(source) ? source : ''
    })
    .join('')
}

/** A variable, or a line that is none, with its line break. */
type Piece = { source: string } & (
  | { name: string; value: string; isExported: boolean }
  | { name?: undefined; value?: undefined; isExported?: undefined }
)

function* readPieces(text: string): Generator<Piece> {
  let rest = text
  while (rest !== '') {
    const entry = ENTRY.exec(rest)
    const end = rest.indexOf('\n', entry?.[0].length ?? 0)
    const source = end === -1 ? rest : rest.slice(0, end + 1)
    if (entry) {
      const [, exported, name = '', quoted, single, bare = ''] = entry
      const value = quoted?.replace(/\\([\\"$`])/g, '$1') ?? single ?? bare.trim()
      yield { source, name, value, isExported: exported !== undefined }
    } else {
      yield { source }
    }
    rest = rest.slice(source.length)
  }
}

function decodeLegacy(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value
  }
}
