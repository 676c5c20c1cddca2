import type { Transaction } from '@latchkey/shared/database/database.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import { endBegunChanges } from '@latchkey/shared/users/end-codes.ts'
import { createFactorRepository, storeFactorKinds } from '@latchkey/shared/users/factor-repository.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import type { GuardedUser } from '../account/account-guard.ts'
import type { FactorTraits, SecondFactor } from './second-factor.ts'
import { sessionWithFactor } from './verify-step-up.ts'

/** Verifies a new factor of a locked user, and stores it as confirmed; returns the user whom the guard allows it, and the `amr`. */
export type VerifyEnrolment = (
  transaction: Transaction,
  user: User,
) => Promise<{ user: GuardedUser; amr: readonly string[] }>

/** A token of a login with the new factor. */
export interface EnrolledFactor extends IssuedToken {
  /** Empty where the user has some already. */
  recoveryCodes: string[]
}

/**
 * Adds a factor, which `verify` verifies and stores inside a transaction that has locked the user. Ends what was begun without it,
 * and for the first factor every other session: none was opened with a factor. Returns a token of a login with it, and recovery
 * codes unless the user has some. Throws `invalid_token` and what `verify` throws.
 */
export async function addFactor(
  secondFactor: SecondFactor,
  { name: kind }: FactorTraits,
  { claims, audit }: Caller,
  verify: VerifyEnrolment,
): Promise<EnrolledFactor> {
  const { transaction, usersIn, lockUser, issueToken, notify, localNow } = secondFactor
  const readAt = toNumericDate(localNow())
  const { user, amr, recoveryCodes } = await transaction(async (db) => {
    const { user, amr } = await verify(db, await lockUser(db, claims))
    const users = usersIn(db)
    const { userid } = user
    const now = localNow()
    const recoveryCodes = await createMissingCodes(secondFactor, db, userid)
    const isFirst = factorKindsOf(user).length === 0
    const [current] = await Promise.all([
      isFirst ? revokeUserTokens(users, user, now, { except: claims }) : user,
      endBegunChanges(db, userid, new Date(now)),
      storeFactorKinds(createFactorRepository(db), users, userid),
      audit.write(db, { name: 'factor.added', userid, reason: kind }),
      notify(db, user, { template: 'factor-added', kind, hadOthers: !isFirst }, audit.address),
    ])
    return { user: current, amr, recoveryCodes }
  })
  const issued = await issueToken(user, readAt, audit, sessionWithFactor(claims, readAt, amr))
  return { recoveryCodes, ...issued }
}

/** Creates the recovery codes of a user who has none; returns none otherwise. */
async function createMissingCodes(
  { recoveryCodes, localNow }: SecondFactor,
  db: Transaction,
  userid: string,
): Promise<string[]> {
  const factors = createFactorRepository(db)
  if ((await factors.findCodes(userid)).length > 0) return []
  const codes = recoveryCodes.create()
  await recoveryCodes.replace(factors, userid, codes, new Date(localNow()))
  return codes
}
