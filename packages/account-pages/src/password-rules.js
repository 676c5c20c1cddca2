/** Three neighbours of the alphabet or of the digits, which end with 0 as on a keyboard. */
const RUNS = ['abcdefghijklmnopqrstuvwxyz', '01234567890'].flatMap((run) => [
  run,
  [...run].reverse().join(''),
])

/** @param {string} text */
function hasRun(text) {
  for (let start = 0; start + 3 <= text.length; start++) {
    const piece = text.slice(start, start + 3)
    if (RUNS.some((run) => run.includes(piece))) return true
  }
  return false
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 */
const count = (text, pattern) => [...text].filter((character) => pattern.test(character)).length

/**
 * Tells whether a password keeps a rule, by the names that `GET /password-policy` has for them.
 * @type {Record<string, (text: string, number: number) => boolean>}
 */
const RULES = {
  MINIMUM_CHARS: (text, number) => [...text].length >= number,
  REQUIRE_UPPERCASE: (text, number) => count(text, /\p{Lu}/u) >= number,
  REQUIRE_LOWERCASE: (text, number) => count(text, /\p{Ll}/u) >= number,
  REQUIRE_SYMBOLS: (text, number) => count(text, /[^\p{L}\p{Nd}\p{White_Space}]/u) >= number,
  REQUIRE_NUMBERS: (text, number) => count(text, /\p{Nd}/u) >= number,
  ALLOW_WHITESPACE: (text) => !/\p{White_Space}/u.test(text),
  ALLOW_SEQUENTIAL: (text) => !hasRun(text.toLowerCase()),
  ALLOW_REPEATED: (text) => !/(.{1,2})\1\1/su.test(text),
}

/**
 * Returns true where a password that is being typed keeps a rule. The server decides; a rule that only it knows is not kept.
 * @param {string} password
 * @param {{ rule: string, number: number }} rule
 */
export const keepsRule = (password, { rule, number }) =>
  password !== '' && (RULES[rule]?.(password.normalize('NFC'), number) ?? false)
