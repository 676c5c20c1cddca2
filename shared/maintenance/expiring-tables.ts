/** A table whose rows are worthless some time after a moment. The purge deletes them through the view `expired_…` of the table. */
export interface ExpiringTable {
  table: string
  /** The column with the moment, which the view shows as `moment`. */
  column: string
  /** The time for which a row stays after the moment, in milliseconds. The view never shows it earlier than that. */
  keepMs: number
}

const DAY_MS = 24 * 3_600_000
/** The clocks of processes may differ by this much before a row is missed. */
const CLOCK_LEEWAY_MS = 60_000
/** The same for what has ended a token: without its row, a replica whose clock is behind accepts the token again. */
const REVOCATION_LEEWAY_MS = 3_600_000

/** Lists the tables that the purge empties. `auditDays` is AUDIT_DAYS. */
export const listExpiringTables = (auditDays: number): readonly ExpiringTable[] => [
  // Admins can look up for a day what was requested.
  { table: 'password_reset', column: 'expires_at', keepMs: DAY_MS },
  { table: 'email_change', column: 'expires_at', keepMs: DAY_MS },
  { table: 'token_revocation', column: 'expires_at', keepMs: REVOCATION_LEEWAY_MS },
  // A sign-up contains the hash of a password: it is not kept.
  { table: 'sign_up', column: 'expires_at', keepMs: CLOCK_LEEWAY_MS },
  { table: 'identity_login', column: 'expires_at', keepMs: CLOCK_LEEWAY_MS },
  { table: 'mailed_code', column: 'expires_at', keepMs: CLOCK_LEEWAY_MS },
  { table: 'user_session', column: 'expires_at', keepMs: CLOCK_LEEWAY_MS },
  { table: 'audit_event', column: 'created_at', keepMs: auditDays * DAY_MS },
]

/** The tables from which the purge deletes nothing, and what ends their rows. */
export const OTHER_TABLES = {
  mail_outbox: 'the worker deletes a mail that it has sent, and its sweep one that has expired',
  users: 'a deleted user keeps its row, and with it its names',
  users_property: 'it stays with its user',
  user_erasure: 'it stays, so that nobody restores what was erased',
  user_metadata: 'it stays with its user',
  user_factor: 'the user or an admin deletes it; a new enrolment replaces one that was not confirmed',
  user_identity: 'the user or an admin deletes it',
  recovery_code: 'its use or new codes delete it',
  latchkey_installation: 'it stays with the database',
  latchkey_migrations: 'it stays with the database',
} as const
