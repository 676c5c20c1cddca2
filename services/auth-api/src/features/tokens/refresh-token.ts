import { AppError } from '@latchkey/shared/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Claims } from './claims.ts'
import type { IssuedToken, IssueToken } from './issue-token.ts'
import { isValidFor, revokedToken } from './token-validity.ts'

export interface RefreshTokenDependencies {
  users: Pick<UserRepository, 'findById'>
  issueToken: IssueToken
  refreshWindowSeconds: number
  clock: Clock
}

export type RefreshToken = ReturnType<typeof createRefreshToken>

/**
 * Exchanges a verified token in its last `refreshWindowSeconds` for a new one, with the user's current name and role.
 * Throws `token_not_refreshable` before that, and `invalid_token` when the user is deleted or the token was revoked.
 */
export function createRefreshToken({
  users,
  issueToken,
  refreshWindowSeconds,
  clock,
}: RefreshTokenDependencies) {
  return async (claims: Claims): Promise<IssuedToken> => {
    const now = clock()
    if (claims.exp - now / 1000 > refreshWindowSeconds) {
      throw new AppError(
        'token_not_refreshable',
        `A token can be refreshed in its last ${refreshWindowSeconds} seconds; try again then`,
      )
    }
    const user = await users.findById(claims.sub)
    if (!isValidFor(user, claims)) throw revokedToken()
    return issueToken(user, toNumericDate(now))
  }
}
