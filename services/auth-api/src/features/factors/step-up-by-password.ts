import { AppError } from '@latchkey/shared/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import { factorKindsOf } from '@latchkey/shared/factors/user-factors.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { RequireCurrentPassword } from '../../require-current-password.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'

export interface StepUpByPasswordDependencies {
  requireCurrentPassword: RequireCurrentPassword
  issueToken: IssueToken
  clock: Clock
}

/**
 * Creates the function that renews `auth_time` of a token by the password. It throws `second_factor_refused` for a user who
 * has a second factor, and what `requireCurrentPassword` throws.
 */
export const createStepUpByPassword =
  ({ requireCurrentPassword, issueToken, clock }: StepUpByPasswordDependencies) =>
  async (
    user: User,
    password: string,
    client: Parameters<RequireCurrentPassword>[2] & Pick<Caller, 'audit'>,
  ): Promise<IssuedToken> => {
    if (factorKindsOf(user).length > 0)
      throw new AppError('second_factor_refused', 'Send a code of your second factor, or a recovery code')
    const readAt = toNumericDate(clock())
    await requireCurrentPassword(user, password, client)
    const { sid, amr } = client.claims
    return issueToken(user, readAt, client.audit, { sid, authTime: readAt, amr })
  }
