import { AppError } from '@latchkey/shared/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import { factorKindsOf } from '@latchkey/shared/factors/user-factors.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { LoggedInClient } from '../../client.ts'
import type { RequireCurrentPassword } from '../../require-current-password.ts'
import type { SecondFactor } from '../../second-factor/second-factor.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'
import type { GetTokenUser } from '../../tokens/token-validity.ts'
import { codeKindOf, type VerifyCode } from './verify-code.ts'

export interface StepUpDependencies {
  db: Queryable
  getTokenUser: GetTokenUser
  secondFactor: Pick<SecondFactor, 'stepUp' | 'factorAttempts'>
  verifyCode: VerifyCode
  requireCurrentPassword: RequireCurrentPassword
  issueToken: IssueToken
  clock: Clock
}

/** A code, or the password of a user without a second factor. */
export interface StepUp {
  code?: string | undefined
  currentPassword?: string | undefined
}

/**
 * Creates the function that exchanges a token for one of the same session with a new `auth_time`. Throws
 * `second_factor_refused`, and what `requireCurrentPassword` throws.
 */
export function createStepUp(dependencies: StepUpDependencies) {
  const { db, getTokenUser, secondFactor, verifyCode, requireCurrentPassword, issueToken, clock } =
    dependencies

  async function stepUpByPassword(
    user: User,
    password: string,
    client: LoggedInClient,
  ): Promise<IssuedToken> {
    if (factorKindsOf(user).length > 0)
      throw new AppError('second_factor_refused', 'Send a code of your second factor, or a recovery code')
    const readAt = toNumericDate(clock())
    await requireCurrentPassword(user, password, client)
    const { sid, amr } = client.claims
    return issueToken(user, readAt, client.audit, { sid, authTime: readAt, amr })
  }

  return async ({ code, currentPassword = '' }: StepUp, client: LoggedInClient): Promise<IssuedToken> => {
    const user = await getTokenUser(db, client.claims)
    if (code === undefined) return stepUpByPassword(user, currentPassword, client)
    return secondFactor.factorAttempts.run(client, { userid: user.userid, kind: codeKindOf(code) }, () =>
      secondFactor.stepUp(client, verifyCode(code, client.audit)),
    )
  }
}
