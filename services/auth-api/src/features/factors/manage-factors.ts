import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { createFactorRepository, type Factor } from '@latchkey/shared/factors/factor-repository.ts'
import { factorKindsOf } from '@latchkey/shared/factors/user-factors.ts'
import type { SecondFactor } from '../../second-factor/second-factor.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { GetTokenUser, LockUser } from '../../tokens/token-validity.ts'

export interface ManageFactorsDependencies {
  db: Pick<Database, 'transaction'> & Queryable
  getTokenUser: GetTokenUser
  lockUser: LockUser
  secondFactor: Pick<SecondFactor, 'remove' | 'recoveryCodes'>
  clock: Clock
}

/**
 * Creates the functions that list, rename and remove the factors of a user. Each but `list` throws `invalid_token` when the
 * token has ended.
 */
export function createManageFactors(dependencies: ManageFactorsDependencies) {
  const { db, getTokenUser, lockUser, secondFactor, clock } = dependencies

  return {
    /** Lists the confirmed factors of a user, and counts the recovery codes that are left. */
    async list(userid: string): Promise<{ factors: Factor[]; recoveryCodes: number }> {
      const factors = createFactorRepository(db)
      const [found, codes] = await Promise.all([factors.find(userid), factors.findCodes(userid)])
      return { factors: found.filter(({ confirmedAt }) => confirmedAt), recoveryCodes: codes.length }
    },

    /** Throws `factor_not_found`. */
    async rename({ claims }: Caller, id: string, name: string): Promise<void> {
      const { userid } = await getTokenUser(db, claims)
      if (!(await createFactorRepository(db).rename(id, userid, name))) throw noSuchFactor()
    },

    /** Throws `factor_not_found`, and `last_factor` where the role needs one. */
    remove: ({ claims, audit }: Caller, id: string): Promise<void> =>
      db.transaction(async (transaction) => {
        const user = await lockUser(transaction, claims)
        if (!(await secondFactor.remove(transaction, user, id, audit))) throw noSuchFactor()
      }),

    /** Replaces the recovery codes; returns the new ones. Throws `factor_not_found` for a user who has no factor to replace. */
    renewRecoveryCodes: ({ claims, audit }: Caller): Promise<string[]> =>
      db.transaction(async (transaction) => {
        const user = await lockUser(transaction, claims)
        if (factorKindsOf(user).length === 0) throw nothingToReplace()
        const { userid } = user
        await audit.write(transaction, { name: 'recovery_codes.renewed', userid })
        const factors = createFactorRepository(transaction)
        return secondFactor.recoveryCodes.renew(factors, userid, new Date(clock()))
      }),
  }
}

const nothingToReplace = () =>
  new AppError('factor_not_found', 'Recovery codes replace a second factor, and you have none; add one first')

const noSuchFactor = () =>
  new AppError('factor_not_found', 'You have no such factor; GET /profile/factors lists them')
