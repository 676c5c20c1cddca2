/**
 * The form in which e-mails and usernames are compared: case does not count, accents do. The database's index
 * narrows the search by its own collation; this decides.
 */
export const fold = (text: string): string => text.normalize('NFC').toLowerCase()
