/** Tells whether the line is a dot command; `.5 + 1` and `...` are code. */
export const isDotCommand = (line: string): boolean => /^\s*\.[a-z]+(\s|$)/.test(line)
