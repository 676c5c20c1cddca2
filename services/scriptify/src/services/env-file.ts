import { CliError, EXIT } from '../io/cli-error.ts'

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const OWN_HEADER = /^# scriptify: managed /m

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

/** Reads the variables of a file as the init systems do; what they ignore is ignored here. */
export function parseEnvFile(text: string): Record<string, string> {
  return Object.fromEntries(
    [...readPieces(text)].filter((piece) => piece.name !== undefined).map(({ name, value }) => [name, value]),
  )
}

/** The text with the values of these variables replaced or added; everything else stays as it was written. */
export function updateEnvFile(text: string, variables: Record<string, string>): string {
  const pieces = [...readPieces(text)]
  const isNew = ([name]: [string, string]) => pieces.every((piece) => piece.name !== name)
  const updated = pieces.map(({ name, source }) => {
    const value = name !== undefined && Object.hasOwn(variables, name) ? variables[name] : undefined
    return name === undefined || value === undefined ? source : renderEnvFile({ [name]: value })
  })
  const added = renderEnvFile(Object.fromEntries(Object.entries(variables).filter(isNew)))
  return updated.join('').replace(/[^\n]$/, '$&\n') + added
}

/** A line that is neither blank nor a comment; older versions of systemd go on with a comment after a backslash. */
const NO_COMMENT = /^\s*(?:[^\s#;]|[#;].*\\\s*$)/

/** Throws exit code 2, with the path and the number of the line, for one that an init system would ignore or read on from. */
export function requireReadableEnvFile(text: string, path: string): void {
  let line = 1
  for (const { source, name, isOpen } of readPieces(text)) {
    const place = `Line ${line} of ${path}`
    if (isOpen)
      throw new CliError(`${place} (${name}) begins a quote that is never closed: close it`, EXIT.usage)
    if (name === undefined && NO_COMMENT.test(source)) {
      throw new CliError(
        `${place} is not NAME="value", and would be ignored: write it so, without export or a byte order mark`,
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
  for (let start = 0; start < text.length; ) {
    const line = text.slice(start, lineEnd(text, start))
    const [before, key = ''] = /^[ \t]*([^#;\s=][^=\r\n]*)=/.exec(line) ?? []
    const { end, value, isOpen } =
      before === undefined
        ? { end: start + line.length, value: '', isOpen: false }
        : readValue(text, start + before.length)
    const [source, name] = [text.slice(start, end), key.trimEnd()]
    yield VARIABLE_NAME.test(name) ? { source, name, value, isOpen } : { source }
    start = end
  }
}

/** Returns the position at which the next line begins. */
function lineEnd(text: string, start: number): number {
  const length = text.slice(start).search(/[\r\n]/)
  return length === -1 ? text.length : start + length + 1
}

/** Reads a value as EnvironmentFile= of systemd does (systemd.exec(5)); templates/services/launcher does the same. */
function readValue(text: string, start: number): { end: number; value: string; isOpen: boolean } {
  let value = ''
  /** The length without the white space that is trimmed. */
  let length = 0
  let state: 'before' | 'value' | '"' | "'" = 'before'
  const add = (part: string) => {
    value += part
    length = value.length
  }
  for (let at = start; at < text.length; at++) {
    const character = text.charAt(at)
    const next = text.charAt(at + 1)
    if (character === state) state = 'before'
    else if (state === "'") add(character)
    else if (state === '"') {
      if (character !== '\\') add(character)
      else if (/["\\`$]/.test(next)) add(next)
      else if (next !== '\n') add(character + next)
      if (character === '\\') at++
    } else if (/[\r\n]/.test(character)) return { end: at + 1, value: value.slice(0, length), isOpen: false }
    else if (character === '\\') {
      if (!/[\r\n]/.test(next)) add(next)
      at++
      state = 'value'
    } else if (state === 'before' && (character === '"' || character === "'")) state = character
    else if (!/[ \t]/.test(character)) {
      add(character)
      state = 'value'
    } else if (state === 'value') value += character
  }
  return { end: text.length, value: value.slice(0, length), isOpen: state === '"' || state === "'" }
}
