/** Characters that a terminal would act on or not show. Joiners stay, which scripts and emoji need. */
const UNPRINTABLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/**
 * Text from elsewhere as one line of a terminal may show it: control characters, those that cannot be seen and those that
 * change the order of others become `\xNN` or, as JSON has them, `\uNNNN`.
 */
export const printable = (text: string): string => text.replace(UNPRINTABLE, escapeUnits)

/** The same for several lines: tabs and the ends of lines stay. JSON stays JSON with the same values. */
export const printableLines = (text: string): string => text.replace(/[^\t\r\n]+|\r(?!\n)/g, printable)

const escapeUnits = (character: string): string =>
  character.replace(/[\s\S]/g, (unit) => {
    const code = unit.charCodeAt(0)
    const digits = code.toString(16)
    return code < 0x20 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`
  })
