import { toNumericDate } from '../time/clock.ts'
import {
  EXEMPT_TOKEN_PROPERTY,
  exemptionOf,
  type TokenOfUser,
  type User,
  VALID_FROM_PROPERTY,
  validFromOf,
} from './user.ts'
import type { UserRepository } from './user-repository.ts'

/**
 * Ends every token issued to the user so far, by the user's valid-from time: the second after `now` (in milliseconds), or later
 * where the previous one is not earlier. `except` is a token that stays valid. Returns the user with the new time. Needs
 * a transaction that has locked the user before it read `user`.
 */
export async function revokeUserTokens(
  users: Pick<UserRepository, 'setProperty'>,
  user: User,
  now: number,
  { except }: { except?: TokenOfUser } = {},
): Promise<User> {
  const { userid } = user
  const validFrom = Math.max(toNumericDate(now), validFromOf(user)) + 1
  const changed = { name: VALID_FROM_PROPERTY, value: String(validFrom) }
  await Promise.all([
    users.setProperty(userid, changed.name, changed.value),
    except === undefined
      ? undefined
      : users.setProperty(userid, EXEMPT_TOKEN_PROPERTY, exemptionOf(validFrom, except)),
  ])
  return { ...user, properties: [...user.properties.filter(({ name }) => name !== changed.name), changed] }
}
