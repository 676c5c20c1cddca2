import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import { createCodeRepository } from '../../one-time-codes/code-repository.ts'
import { RESETS } from '../../one-time-codes/code-tables.ts'

const CONFIRM: Statement = {
  name: 'password_reset-confirm',
  text: `update password_reset set confirmed_at = $2, token_hash = $3
    where id = $1 and confirmed_at is null and used_at is null and expires_at > $2`,
}

const COUNT_HASH: Statement = {
  name: 'password_reset-count-hash',
  text: `update password_reset set attempts = attempts + 1
    where id = $1 and attempts < $2 and confirmed_at is not null and used_at is null and expires_at > $3`,
}

export type ResetRepository = ReturnType<typeof createResetRepository>

/** Creates the repository of password resets. Given a transaction, it works inside that transaction. */
export const createResetRepository = (db: Queryable) => ({
  ...createCodeRepository(db, RESETS),

  /** Confirms a reset; true for the one call that does. */
  confirm: async (id: string, now: Date, tokenHash: string): Promise<boolean> =>
    (await db.execute(CONFIRM, [db.toUuidValue(id), now, tokenHash])) === 1,

  /** Counts a new password for a confirmed reset together with its codes; false when none is left or the reset has ended. */
  countHash: async (id: string, maximum: number, now: Date): Promise<boolean> =>
    (await db.execute(COUNT_HASH, [db.toUuidValue(id), maximum, now])) === 1,
})
