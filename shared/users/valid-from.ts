import { toNumericDate } from '../clock.ts'
import { EXEMPT_TOKEN_PROPERTY, exemptionOf, VALID_FROM_PROPERTY, validFromOf } from './user.ts'
import type { UserRepository } from './user-repository.ts'

/**
 * Ends every token issued to the user so far, by the user's valid-from time: the time `now`, in milliseconds, or later where
 * the previous one is not earlier. `except` is the `jti` of a token that stays valid. Needs a transaction that has locked the
 * user.
 */
export async function endTokens(
  users: Pick<UserRepository, 'findById' | 'setProperty'>,
  userid: string,
  now: number,
  { except }: { except?: string } = {},
): Promise<void> {
  const user = await users.findById(userid)
  const previous = user ? validFromOf(user) : 0
  const validFrom = Math.max(toNumericDate(now) + 1, previous + 1)
  await users.setProperty(userid, VALID_FROM_PROPERTY, String(validFrom))
  if (except !== undefined)
    await users.setProperty(userid, EXEMPT_TOKEN_PROPERTY, exemptionOf(validFrom, except))
}
