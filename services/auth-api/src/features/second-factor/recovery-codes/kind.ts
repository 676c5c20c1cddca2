import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { FactorAudit, FactorKind, SecondFactor, VerifyFactor } from '../second-factor.ts'
import { recoveryCodeRoutes } from './routes.ts'

/** Recovery codes, which replace a factor that the user has lost. They take every code that no other kind takes, so they come last. */
export const recoveryCodes: FactorKind = {
  name: 'recovery_code',
  code: { matches: () => true, verify: verifyRecoveryCode },
  routes: recoveryCodeRoutes,
}

function verifyRecoveryCode(
  { recoveryCodes, notify }: SecondFactor,
  code: string,
  audit: FactorAudit,
): VerifyFactor {
  return async (db, user) => {
    const left = await recoveryCodes.use(createFactorRepository(db), user.userid, code)
    if (left === undefined) throw recoveryCodeRefused()
    await audit.write(db, { name: 'recovery_code.used', userid: user.userid })
    await notify(db, user, { template: 'recovery-code-used', left }, audit.address)
    return ['otp']
  }
}

const recoveryCodeRefused = () =>
  new AppError('second_factor_refused', 'The recovery code is wrong or was used already', {
    reason: 'recovery_code_wrong',
  })
