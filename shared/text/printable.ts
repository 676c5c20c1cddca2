/**
 * Text from elsewhere as a terminal may show it: control characters become `\xNN`, and those that cannot be seen or that
 * change the order of others `\u{NNNN}`. Joiners stay, which scripts and emoji need.
 */
export const printable = (text: string): string =>
  text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return code.length > 2 ? `\\u{${code}}` : `\\x${code.padStart(2, '0')}`
  })
