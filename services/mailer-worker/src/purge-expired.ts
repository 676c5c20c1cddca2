import type { Clock } from '@latchkey/shared/clock.ts'
import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'

const DAY_MS = 24 * 3_600_000
/** How long admins can look up what was requested: a day. */
const KEEP_REQUESTS_MS = DAY_MS
/** How far the clock of another process may be behind: for it, a token lives on that long. */
const CLOCK_LEEWAY_MS = 60_000

const PURGE_RESETS: Statement = {
  name: 'reset-purge',
  text: 'delete from password_reset where expires_at < $1',
}
const PURGE_EMAIL_CHANGES: Statement = {
  name: 'email-change-purge',
  text: 'delete from email_change where expires_at < $1',
}
const PURGE_REVOCATIONS: Statement = {
  name: 'token-revocation-purge',
  text: 'delete from token_revocation where expires_at < $1',
}

const PURGE_SIGN_UPS: Statement = {
  name: 'sign-up-purge',
  text: 'delete from sign_up where expires_at < $1',
}
const PURGE_AUDIT_EVENTS: Statement = {
  name: 'audit-purge',
  text: 'delete from audit_event where created_at < $1',
}

export interface PurgeOptions {
  /** How long the audit trail is kept, in days. */
  auditDays: number
  clock: Clock
}

/**
 * Deletes resets and changes of e-mail that expired more than a day ago, revocations whose tokens have expired, expired
 * sign-ups, and events of the audit trail older than `auditDays`.
 */
export const createPurge =
  (db: Pick<Queryable, 'execute'>, { auditDays, clock }: PurgeOptions) =>
  async (): Promise<void> => {
    for (const purge of [PURGE_RESETS, PURGE_EMAIL_CHANGES])
      await db.execute(purge, [new Date(clock() - KEEP_REQUESTS_MS)])
    // A sign-up contains the hash of a password: it is not kept.
    for (const purge of [PURGE_REVOCATIONS, PURGE_SIGN_UPS])
      await db.execute(purge, [new Date(clock() - CLOCK_LEEWAY_MS)])
    await db.execute(PURGE_AUDIT_EVENTS, [new Date(clock() - auditDays * DAY_MS)])
  }
