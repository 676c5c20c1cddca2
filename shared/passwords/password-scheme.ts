/** The names of the schemes in settings. Settings need no more of the schemes. */
export const SCHEME_NAMES = ['sha1', 'argon2id', 'bcrypt', 'argon2i'] as const

/** The schemes that are verified unless PASSWORD_HASH_ACCEPTED names others. */
export const ACCEPTED_BY_DEFAULT: readonly string[] = ['sha1', 'argon2id']

/**
 * One way to hash a password for `users.password`. What takes milliseconds runs in libuv's pool and gives a promise; a
 * hash that takes microseconds is computed on the spot.
 */
export interface PasswordScheme {
  /** A description of a stored hash, for the message that refuses another one. */
  readonly form: string
  /** The bytes of a password that count, where others would be left out. */
  readonly maximumBytes?: number
  /** True for a stored hash that begins like one of this scheme. */
  recognises(stored: string): boolean
  /** Returns why a stored hash cannot be verified, as a predicate: it is malformed, or costs too much. */
  findFault(stored: string): string | undefined
  /** Loads the native library, which the first hash does otherwise. */
  load?(): Promise<unknown>
  hash(password: string): string | Promise<string>
  /** `stored` has no fault. */
  verify(password: string, stored: string): boolean | Promise<boolean>
  /** True for a stored hash of this scheme that has the parameters of new ones. */
  isCurrent(stored: string): boolean
  /**
   * Does the work that the scheme adds to each refusal, less what verifying `stored` has done already, so that all
   * refusals take the same time.
   */
  completeRefusal(password: string, stored?: string): void | Promise<void>
}

/** Passwords that another program hashed from the bytes as sent, which need not have been NFC. */
export const spellingsOf = (password: string): string[] => [...new Set([password.normalize('NFC'), password])]
