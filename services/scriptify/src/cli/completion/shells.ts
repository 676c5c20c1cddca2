import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { printable } from '@latchkey/text/printable.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export interface Candidate {
  readonly value: string
  readonly description: string
}

/** The words that may follow in a line; undefined for the name of a file, which the shell itself completes. */
export type Candidates = readonly Candidate[] | undefined

/** What the shell's script reads: `:files`, or a line for each candidate; for zsh and fish with its description. */
export function formatReply(
  shell: Shell,
  candidates: Candidates,
  { line, breaks }: { line: string; breaks: string },
): string {
  if (candidates === undefined) return ':files\n'
  // A shell shows candidates as they are, and an escaped one would name something else.
  const shown = candidates.filter(({ value }) => value === printable(value))
  const lines = shown.map(({ value, description }) =>
    shell === 'bash' ? replaceWord(value, { line, breaks }) : `${value}\t${firstLine(description)}`,
  )
  return lines.map((text) => `${text}\n`).join('')
}

/** bash replaces only what follows the last of its word breaks, such as `::`, unless the word is in quotes. */
function replaceWord(value: string, { line, breaks }: { line: string; breaks: string }): string {
  const current = splitLine(line).at(-1)
  if (current === undefined) return value
  const quoted = quoteFor(value, current)
  if (current.openQuote !== '') return quoted
  const isBreak = (character: string) => ':='.includes(character) && breaks.includes(character)
  let typed = [...current.raw].filter(isBreak).length
  let start = 0
  while (typed > 0 && start < quoted.length) if (isBreak(quoted.charAt(start++))) typed -= 1
  return quoted.slice(start)
}

const firstLine = (text: string): string => printable((text.split('\n')[0] ?? '').replaceAll('\t', ' '))

/** A word of a command line: as typed, and as the shell would pass it on. */
export interface ShellWord {
  readonly raw: string
  readonly value: string
  /** The quote that the word has opened and not closed. */
  readonly openQuote: '' | "'" | '"'
}

/** The words of a line up to the cursor. The last one is where the cursor is, and may be empty. */
export function splitLine(line: string): ShellWord[] {
  const words = line
    .trimStart()
    .match(/(?:\\[\s\S]|'[^']*(?:'|$)|"(?:\\[\s\S]|[^"\\])*(?:"|$)|[^\s\\'"]|\\$)+/g)
  const ended = words === null || endsBetweenWords(line, words.at(-1) ?? '')
  return [...(words ?? []), ...(ended ? [''] : [])].map(parseWord)
}

const endsBetweenWords = (line: string, last: string): boolean => !line.endsWith(last)

function parseWord(raw: string): ShellWord {
  let openQuote: ShellWord['openQuote'] = ''
  let value = ''
  for (let index = 0; index < raw.length; index++) {
    const character = raw.charAt(index)
    const next = raw.charAt(index + 1)
    if (character === openQuote) openQuote = ''
    else if (openQuote === '' && (character === "'" || character === '"')) openQuote = character
    else if (character === '\\' && isEscape(openQuote, next)) {
      value += next
      index += 1
    } else value += character
  }
  return { raw, value, openQuote }
}

/** Whether a backslash escapes the character: few in double quotes, none in single ones. */
const isEscape = (quote: ShellWord['openQuote'], next: string): boolean =>
  quote === '' || (quote === '"' && /["\\$`]/.test(next))

/** A value as the rest of the typed word: as it is in single quotes, with backslashes elsewhere. */
function quoteFor(value: string, { openQuote }: Pick<ShellWord, 'openQuote'>): string {
  if (openQuote === "'") return value.replaceAll("'", `'\\''`)
  return value.replaceAll(openQuote === '"' ? /["\\$`]/g : /[^\w@%+=:,./#-]/g, '\\$&')
}

/** The script that a shell sources. */
export const readCompletionScript = (shell: Shell): Promise<string> =>
  readFile(join(import.meta.dirname, 'scripts', shell), 'utf8')
