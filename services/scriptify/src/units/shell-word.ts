/** One word of a POSIX shell: single quotes keep everything literal but themselves (POSIX 2.2.2). */
export const quoteShellWord = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`
