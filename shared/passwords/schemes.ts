import { argon2id } from './argon2id.ts'
import type { PasswordScheme } from './scheme.ts'
import { sha1 } from './sha1.ts'

/** The schemes of stored hashes, by their names in PASSWORD_HASH. A new one is a file and a line here. */
export const PASSWORD_SCHEMES: Readonly<Record<string, PasswordScheme>> = { sha1, argon2id }

/** The scheme called `name`. Settings are checked, so an unknown name is a bug in Latchkey. */
export function getScheme(name: string): PasswordScheme {
  const scheme = PASSWORD_SCHEMES[name]
  if (!scheme) throw new Error(`No password scheme is called ${name}`)
  return scheme
}
