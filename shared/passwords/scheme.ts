/**
 * One way to hash a password for `users.password`. Its functions are synchronous because they run in the hashing
 * threads, never on the event loop.
 */
export interface PasswordScheme {
  /** Whether a stored hash has the form of this scheme. */
  recognises(stored: string): boolean
  hash(password: string): string
  verify(password: string, stored: string): boolean
  /** Whether a stored hash of this scheme has the parameters of new ones. */
  isCurrent(stored: string): boolean
  /** A hash that no password matches; verifying against it takes as long as against a real one. */
  readonly decoy: string
}
