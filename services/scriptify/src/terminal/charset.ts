import { CliError, EXIT } from '../io/cli-error.ts'

/** What decoding makes of bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd'

/** The setting of a locale with another charset, such as `LANG=de_DE.ISO-8859-1`. C and POSIX name none, and are used with any. */
export function findForeignLocale(env: NodeJS.ProcessEnv): string | undefined {
  const name = ['LC_ALL', 'LC_CTYPE', 'LANG'].find((variable) => env[variable]) ?? 'LANG'
  const charset = /\.([^@]+)/.exec(env[name] ?? '')?.[1]
  return charset === undefined || /^utf-?8$/i.test(charset) ? undefined : `${name}=${env[name]}`
}

/** Why typed text cannot be run; undefined for text that arrived whole. What is not UTF-8 would be stored in another form. */
export function describeForeignText(text: string, locale: string | undefined): string | undefined {
  if (!text.includes(REPLACEMENT)) return undefined
  const cause = locale === undefined ? '' : ` (${locale})`
  return `The input has a character that is not UTF-8${cause}, and was not run; set the terminal to UTF-8, and LANG to C.UTF-8`
}

/** Decodes a script; throws a CliError (2) for one that is not UTF-8. */
export function decodeScript(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CliError('The script is not UTF-8, and was not run; iconv converts it', EXIT.usage)
  }
}
