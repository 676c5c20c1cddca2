import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'
import type { GetTokenUser } from '../../tokens/token-validity.ts'
import type { AccountGuard } from '../account/account-guard.ts'
import type { SecondFactor } from './second-factor.ts'
import { codeKindOf, type VerifyCode } from './verify-code.ts'

export interface StepUpDependencies {
  db: Queryable
  getTokenUser: GetTokenUser
  secondFactor: Pick<SecondFactor, 'stepUp' | 'factorAttempts'>
  verifyCode: VerifyCode
  guard: Pick<AccountGuard, 'change' | 'hasFactor'>
  issueToken: IssueToken
  localNow: Clock
}

/** A code, or the password of a user without a second factor; neither for a user without both. */
export interface StepUp {
  code?: string | undefined
  currentPassword?: string | undefined
}

/**
 * Creates the function that exchanges a token for one of the same session that says what the user shows now, and its time. Throws
 * `second_factor_refused`, and what the guard throws.
 */
export function createStepUp(dependencies: StepUpDependencies) {
  const { db, getTokenUser, secondFactor, verifyCode, guard, issueToken, localNow } = dependencies

  async function stepUpByPassword(
    password: string | undefined,
    client: LoggedInClient,
  ): Promise<IssuedToken> {
    const readAt = toNumericDate(localNow())
    const [user, login] = await guard.change('stepUp', client, password, async (_, user, { login }) => [
      user,
      login,
    ])
    return issueToken(user, readAt, client.audit, { sid: client.claims.sid, ...login })
  }

  return async ({ code, currentPassword }: StepUp, client: LoggedInClient): Promise<IssuedToken> => {
    const user = await getTokenUser(db, client.claims)
    if (code === undefined) {
      if (!guard.hasFactor(user)) return stepUpByPassword(currentPassword, client)
      throw new AppError('second_factor_refused', 'Send a code of your second factor, or a recovery code')
    }
    const attempt = { userid: user.userid, purpose: 'stepUp', kind: codeKindOf(code) } as const
    return secondFactor.factorAttempts.run(client, attempt, () =>
      secondFactor.stepUp(client, verifyCode(code, client.audit)),
    )
  }
}
