import { AppError } from '@latchkey/shared/app-error.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { LoginField } from '@latchkey/shared/users/user-repository.ts'
import type { LoggedInClient } from './client.ts'
import type { LimitLogin } from './limits/login-limiter.ts'
import type { Claims } from './tokens/claims.ts'

export interface CurrentPasswordDependencies {
  passwords: Pick<PasswordHasher, 'verify'>
  limitLogin: LimitLogin
  field: LoginField
  /** Throws for a user with a second factor who has not logged in with it recently. */
  requireFreshFactor: (user: User, claims: Claims) => void
}

/**
 * Requires the user's current password, and a token of a recent login with the second factor if the user has one. Throws
 * `insufficient_user_authentication`, `wrong_password`, which counts as a failed login of the account and of the
 * client's address, and `rate_limited` after too many of them.
 */
export type RequireCurrentPassword = (user: User, password: string, client: LoggedInClient) => Promise<void>

/** Creates the function that requires the current password of a user. */
export const createRequireCurrentPassword =
  ({
    passwords,
    limitLogin,
    field,
    requireFreshFactor,
  }: CurrentPasswordDependencies): RequireCurrentPassword =>
  async (user, password, { request, claims, audit }) => {
    // This comes before the password, so that a stolen token tells nothing about it.
    requireFreshFactor(user, claims)
    // The account is what a login of this user contains: guesses here and there are counted together.
    await limitLogin(request, user[field] ?? user.userid, async (client) => {
      const { matches } = await passwords.verify(password, user.passwordHash, client)
      if (matches) return
      audit.report({ name: 'current_password.refused', userid: user.userid })
      throw wrongPassword('The current password is wrong')
    })
  }

export const wrongPassword = (message: string) => new AppError('wrong_password', message)
