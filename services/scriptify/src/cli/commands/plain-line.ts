/** An option of a command, for commander and for `readPlainLine`. */
export interface OptionRow {
  /** In commander's notation, such as `-p, --preload <file>`. */
  flags: string
  description: string
  choices?: readonly string[]
  isRepeatable?: boolean
  /** The name of an option that cannot be given as well. */
  conflicts?: string
}

/** The options of a command line by their names, which commander writes in camel case. */
export type OptionValues = Record<string, string | string[] | boolean | undefined>

export interface PlainLine {
  operand: string | undefined
  values: OptionValues
}

interface Option {
  name: string
  row: OptionRow
  /** What the option means without a value; undefined for one that takes a value. */
  value: boolean | undefined
}

/**
 * Reads the words of a command with at most one operand as commander does, without the time that commander takes to load.
 * Undefined for a line that may be wrong, may ask for help, or is written in another form: that is commander's to read.
 */
export function readPlainLine(words: readonly string[], rows: readonly OptionRow[]): PlainLine | undefined {
  const options = indexOptions(rows)
  const line: PlainLine = { operand: undefined, values: {} }
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (!word.startsWith('-')) {
      if (line.operand !== undefined) return undefined
      line.operand = word
      continue
    }
    const option = options.get(word)
    const value = option && (option.value ?? readValue(rest.shift(), option.row))
    if (option === undefined || value === undefined) return undefined
    add(line.values, option, value)
  }
  return rows.some((row) => isInConflict(row, line.values)) ? undefined : line
}

function indexOptions(rows: readonly OptionRow[]): Map<string, Option> {
  const options = new Map<string, Option>()
  for (const row of rows) {
    const [spellings = '', argument] = row.flags.split(/ (?=<)/)
    const [, no, long = ''] = /--(no-)?([a-z-]+)$/.exec(spellings) ?? []
    const value = argument === undefined ? no === undefined : undefined
    for (const spelling of spellings.split(', ')) options.set(spelling, { name: camelCase(long), row, value })
  }
  return options
}

const camelCase = (name: string): string =>
  name.replace(/-([a-z])/g, (_match, letter) => letter.toUpperCase())

/** Undefined for a value that is missing, may be an option, or is not among the choices. */
function readValue(word: string | undefined, { choices }: OptionRow): string | undefined {
  if (word === undefined || word.startsWith('-')) return undefined
  return choices === undefined || choices.includes(word) ? word : undefined
}

function add(values: OptionValues, { name, row }: Option, value: string | boolean): void {
  if (!row.isRepeatable || typeof value === 'boolean') {
    values[name] = value
    return
  }
  const earlier = values[name]
  values[name] = [...(Array.isArray(earlier) ? earlier : []), value]
}

function isInConflict({ flags, conflicts }: OptionRow, values: OptionValues): boolean {
  if (conflicts === undefined) return false
  return flags.slice(2) in values && conflicts in values
}
