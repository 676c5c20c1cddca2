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

/** In double quotes a backslash escapes few characters, in single ones none. */
const isEscape = (quote: ShellWord['openQuote'], next: string): boolean =>
  quote === '' || (quote === '"' && /["\\$`]/.test(next))

/** A value as the rest of the typed word: as it is in single quotes, with backslashes elsewhere. */
export function quoteFor(value: string, { openQuote }: Pick<ShellWord, 'openQuote'>): string {
  if (openQuote === "'") return value.replaceAll("'", `'\\''`)
  return value.replaceAll(openQuote === '"' ? /["\\$`]/g : /[^\w@%+=:,./#-]/g, '\\$&')
}
