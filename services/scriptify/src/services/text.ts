/** True where a text would not stay on one line. */
export const hasControls = (text: string): boolean => /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)

/**
 * True where a text contains one of U+FFFF and its like. It makes a systemd unit unreadable, `systemctl status` fails on an
 * escaped one, and systemd drops a variable with it.
 */
export const hasNoncharacter = (text: string): boolean => /\p{Noncharacter_Code_Point}/u.test(text)

/** Quotes one word of a POSIX shell: single quotes keep everything literal but themselves (POSIX 2.2.2). */
export const quoteShellWord = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`
