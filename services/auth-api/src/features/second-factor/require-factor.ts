import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { AccountGuard } from '../account/account-guard.ts'
import { type Challenges, LOGIN } from './challenges.ts'

export interface RequireFactorDependencies {
  challenges: Pick<Challenges, 'issue'>
  guard: Pick<AccountGuard, 'describe'>
}

/**
 * Throws `second_factor_required`, with a challenge, for a user who has a second factor and has shown the first one. `first` says
 * how, as `amr` does.
 */
export async function requireFactor(
  { challenges, guard }: RequireFactorDependencies,
  user: User,
  audit: Pick<RequestAudit, 'report'>,
  first: readonly string[] = ['pwd'],
): Promise<void> {
  const factors = factorKindsOf(user)
  if (factors.length === 0) return
  const begunUnder = await guard.describe(user)
  const challenge = await challenges.issue(LOGIN, { user, begunUnder, first })
  audit.report({ name: 'second_factor.required', userid: user.userid })
  throw new AppError('second_factor_required', 'The login needs a second factor', {
    details: { challenge, factors },
  })
}
