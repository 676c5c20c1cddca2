import type { Clock } from '@latchkey/shared/clock.ts'
import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'

/** For a day, admins can look up what was requested. */
const KEEP_MS = 24 * 3_600_000

const PURGE: Statement = { name: 'reset-purge', text: 'delete from password_reset where expires_at < $1' }

/** Deletes resets that expired more than a day ago; returns how many. */
export const createResetPurge = (db: Pick<Queryable, 'execute'>, clock: Clock) => (): Promise<number> =>
  db.execute(PURGE, [new Date(clock() - KEEP_MS)])
