import { argon2i, argon2id } from './argon2.ts'
import { bcrypt } from './bcrypt.ts'
import type { PasswordScheme, SCHEME_NAMES } from './password-scheme.ts'
import { sha1 } from './sha1.ts'

/** The schemes of stored hashes, by their names in settings. A new one is a file, a name and a line here. */
export const PASSWORD_SCHEMES: Readonly<Record<string, PasswordScheme>> = {
  sha1,
  argon2id,
  bcrypt,
  argon2i,
} satisfies Record<(typeof SCHEME_NAMES)[number], PasswordScheme>

/** The scheme called `name`. Settings are checked, so an unknown name is a bug in Latchkey. */
export function getScheme(name: string): PasswordScheme {
  const scheme = PASSWORD_SCHEMES[name]
  if (!scheme) throw new Error(`No password scheme is called ${name}`)
  return scheme
}

/** True where a hash by `scheme` would leave out the end of `password`. */
export const exceedsBytes = (password: string, scheme: string): boolean =>
  Buffer.byteLength(password.normalize('NFC')) > (getScheme(scheme).maximumBytes ?? Number.POSITIVE_INFINITY)

/** The name of the scheme that a stored hash has. */
export const findSchemeName = (stored: string): string | undefined =>
  Object.keys(PASSWORD_SCHEMES).find((name) => getScheme(name).recognises(stored))
