import { toNumericDate } from '../clock.ts'
import { EXEMPT_TOKEN_PROPERTY, exemptionOf, VALID_FROM_PROPERTY, validFromOf } from './user.ts'
import type { UserRepository } from './user-repository.ts'

/**
 * Ends every token issued to the user until `now`, in milliseconds, by the user's valid-from time. `except` is the `jti` of a
 * token that stays valid. `issuedAt` is the `iat` of a token that ends although it is from the future, after which the
 * clock was set back. Needs a transaction that has locked the user.
 */
export async function endTokens(
  users: Pick<UserRepository, 'findById' | 'setProperty'>,
  userid: string,
  now: number,
  { except, issuedAt = 0 }: { except?: string; issuedAt?: number } = {},
): Promise<void> {
  const user = await users.findById(userid)
  const previous = user ? validFromOf(user) : 0
  const validFrom = validFromAfter(now, Math.max(previous, issuedAt))
  await users.setProperty(userid, VALID_FROM_PROPERTY, String(validFrom))
  if (except !== undefined)
    await users.setProperty(userid, EXEMPT_TOKEN_PROPERTY, exemptionOf(validFrom, except))
}

/**
 * `iat` has whole seconds, and a login may have read the user just before the change is committed, so this time is one to
 * two seconds ahead. A token issued after the change has at least this time as its `iat`; the next one is above it, also
 * within the same second, and when the clock was set back.
 */
const validFromAfter = (now: number, previous: number): number =>
  Math.max(toNumericDate(now) + 2, previous + 1)
