/**
 * One way to turn a password into what `users.password` holds. Its functions are synchronous because they
 * run in the hashing threads, never on the event loop.
 */
export interface PasswordScheme {
  /** Tells by its form whether a stored hash is of this scheme. */
  recognises(stored: string): boolean
  hash(password: string): string
  verify(password: string, stored: string): boolean
  /** False when a stored hash of this scheme has other parameters than new ones get. */
  isCurrent(stored: string): boolean
  /** A hash that no password has: verifying against it costs what verifying a real one does. */
  readonly decoy: string
}
