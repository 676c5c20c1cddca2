import { CliError, EXIT } from '../io/cli-error.ts'

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const OWN_HEADER = /^# scriptify: managed /m
const ENTRY =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)=(?:"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|([^\n]*))/

/** Renders variables as `NAME="value"` lines that sh, dash, bash and systemd read alike; throws exit code 2 for a bad name or NUL. */
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

/** Reads the lines of `renderEnvFile`, and plain `NAME=value` lines with or without `export`. */
export function parseEnvFile(text: string): Record<string, string> {
  return Object.fromEntries(
    [...readPieces(text)].filter((piece) => piece.name !== undefined).map(({ name, value }) => [name, value]),
  )
}

/**
 * The text with the values of these variables replaced or added; everything else stays as it was written. Throws exit
 * code 2 for a quote that is never closed: what follows would become part of its value.
 */
export function updateEnvFile(text: string, variables: Record<string, string>): string {
  const pieces = [...readPieces(text)]
  if (Object.keys(variables).length > 0) requireClosedQuotes(pieces, variables)
  const isNew = ([name]: [string, string]) => pieces.every((piece) => piece.name !== name)
  const updated = pieces.map(({ name, source }) => {
    const value = name !== undefined && Object.hasOwn(variables, name) ? variables[name] : undefined
    return name === undefined || value === undefined ? source : renderEnvFile({ [name]: value })
  })
  const added = renderEnvFile(Object.fromEntries(Object.entries(variables).filter(isNew)))
  return updated.join('').replace(/[^\n]$/, '$&\n') + added
}

function requireClosedQuotes(pieces: readonly Piece[], variables: Record<string, string>): void {
  const open = pieces.find(
    ({ name, isOpen }) => isOpen && name !== undefined && !Object.hasOwn(variables, name),
  )
  if (!open) return
  throw new CliError(
    `The line ${open.name}=… of the environment file begins a quote that is never closed; close it`,
    EXIT.usage,
  )
}

/** A line that systemd, a shell and scriptify read alike, of which a shell runs nothing; the value may go on over lines. */
const PLAIN_ENTRY =
  /^[ \t]*(?:export[ \t]+)?[A-Za-z_][A-Za-z0-9_]*=(?:"(?:[^"\\`$]|\\[\s\S]|\$(?!\())*"|'[^']*'|(?:[^\s"'\\`;&|<>()])*)\s*$/
const COMMENT = /^\s*(?:#.*)?\s*$/

/** Throws exit code 2, with the path and the number of the line, for one that scriptify would not have written so. */
export function requirePlainEnvFile(text: string, path: string): void {
  let line = 1
  for (const { source, name } of readPieces(text)) {
    if (!(name === undefined ? COMMENT : PLAIN_ENTRY).test(source)) {
      const place = `Line ${line} of ${path}${name === undefined ? '' : ` (${name})`}`
      throw new CliError(
        `${place} is not NAME="value": quote the value, with a \\ before each ", \\, $ and \` in it`,
        EXIT.usage,
      )
    }
    line += source.split('\n').length - 1
  }
}

/** Shows only the header and the names: a value may be a secret, and so may a comment. */
export function maskEnvFile(text: string): string {
  return [...readPieces(text)]
    .map(({ name, source }) => {
      if (name !== undefined) return `${name}="…"\n`
      return OWN_HEADER.test(source) ? source : ''
    })
    .join('')
}

/** A variable or any other line, with its line break. */
type Piece = { source: string } & (
  | { name: string; value: string; isOpen: boolean }
  | { name?: undefined; value?: undefined; isOpen?: undefined }
)

function* readPieces(text: string): Generator<Piece> {
  let rest = text
  while (rest !== '') {
    const entry = ENTRY.exec(rest)
    const end = rest.indexOf('\n', entry?.[0].length ?? 0)
    const source = end === -1 ? rest : rest.slice(0, end + 1)
    if (entry) {
      const [, name = '', quoted, single, bare = ''] = entry
      const value = quoted?.replace(/\\([\\"$`])/g, '$1') ?? single ?? bare.trim()
      yield { source, name, value, isOpen: /^["']/.test(bare) }
    } else {
      yield { source }
    }
    rest = rest.slice(source.length)
  }
}
