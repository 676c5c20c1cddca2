/** A string of an upstart job (init(5)): in double quotes, where a backslash protects the next character. */
export const quoteUpstartString = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
