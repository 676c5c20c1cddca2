/** One way in which a database is not as specified. */
export interface Difference {
  /** A column, as `users.email`, or a table. */
  subject: string
  /** A predicate of the subject: `has no unique index`. */
  fault: string
  /** What it causes, in one sentence. */
  consequence: string
  /** Whether nothing may run on the database. */
  isBlocking: boolean
  /** What removes it; undefined where only its owner can know. */
  sql?: string
  /** Whether `sql` loses nothing and changes no row. */
  isSafe: boolean
  /** Some of the values that cause it. */
  examples?: readonly string[]
}
