/**
 * The form in which e-mails and usernames are compared: case does not count, accents do. The database's index
 * narrows the search by its own collation; this decides.
 */
export const fold = (text: string): string =>
  // JavaScript ends a word with ς where databases write σ; MySQL and MariaDB take the two for one letter.
  text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ')
