import { argon2id } from './argon2id.ts'
import type { PasswordScheme } from './scheme.ts'
import { sha1 } from './sha1.ts'

/** The schemes a stored hash may be of, by the name PASSWORD_HASH gives them. A new one is a file and a line. */
export const PASSWORD_SCHEMES: Readonly<Record<string, PasswordScheme>> = { sha1, argon2id }

/** The scheme called `name`; settings have been checked, so an unknown one is a mistake in the code. */
export function getScheme(name: string): PasswordScheme {
  const scheme = PASSWORD_SCHEMES[name]
  if (!scheme) throw new Error(`No password scheme is called ${name}`)
  return scheme
}
