const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '"': '\\"', '\\': '\\\\' }

/** One word of an ExecStart line (systemd.service(5), "Command lines"): C escapes, `%` and `$` doubled. */
export function quoteSystemdWord(word: string): string {
  const escaped = word
    .replace(/[\p{Cc}"\\]/gu, (character) => NAMED[character] ?? escapeBytes(character))
    .replace(/[%$]/g, '$&$&')
  return `"${escaped}"`
}

/**
 * Tells whether systemd takes a text for one. What Unicode keeps for no character (U+FFFF and its like) is none: it makes
 * a unit unreadable, escaped it makes `systemctl status` fail, and a variable is dropped.
 */
export const isSystemdText = (text: string): boolean => !/\p{Noncharacter_Code_Point}/u.test(text)

/** A whole value, as of Description or WorkingDirectory: only `%` is special there, and `$$` would stay two. */
export const escapeSystemdValue = (value: string): string => value.replaceAll('%', '%%')

/** `\x` names a byte, so a control character above U+007F takes two. */
const escapeBytes = (character: string): string =>
  [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
