const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '"': '\\"', '\\': '\\\\' }

/** Quotes one word of an ExecStart line (systemd.service(5), "Command lines"): C escapes, `%` and `$` doubled. */
export function quoteSystemdWord(word: string): string {
  const escaped = word
    .replace(/[\p{Cc}"\\]/gu, (character) => NAMED[character] ?? escapeBytes(character))
    .replace(/[%$]/g, '$&$&')
  return `"${escaped}"`
}

/** A whole value, such as Description or WorkingDirectory, in which only `%` is special. */
export const escapeSystemdValue = (value: string): string => value.replaceAll('%', '%%')

/** `\x` names a byte; a control character above U+007F has two. */
const escapeBytes = (character: string): string =>
  [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
