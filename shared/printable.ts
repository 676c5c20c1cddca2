/** Text from elsewhere as a terminal may show it: control characters become `\xNN`. */
export const printable = (text: string): string =>
  text.replace(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
