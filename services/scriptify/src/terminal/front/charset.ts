import { CliError, EXIT } from '../../io/cli-error.ts'

/** The character that decoding makes of bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd'

/** Returns why typed text cannot be run; undefined for text that arrived whole. Other text than UTF-8 would be changed. */
export const describeInvalidText = (text: string): string | undefined =>
  text.includes(REPLACEMENT)
    ? 'The input has a character that is not UTF-8, and was not run; set the terminal to UTF-8, and LANG to C.UTF-8'
    : undefined

/** Decodes a script; throws a CliError (2) for one that is not UTF-8. */
export function decodeScript(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CliError('The script is not UTF-8, and was not run; iconv converts it', EXIT.usage)
  }
}
