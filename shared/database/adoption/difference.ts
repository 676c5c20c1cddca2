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

/** Whether a difference stops everything, and whether `up --adopt` removes it. */
export const HARMLESS = { isBlocking: false, isSafe: false } as const
export const FIXABLE = { isBlocking: false, isSafe: true } as const
export const BLOCKING = { isBlocking: true, isSafe: false } as const
export const BLOCKING_FIXABLE = { isBlocking: true, isSafe: true } as const
