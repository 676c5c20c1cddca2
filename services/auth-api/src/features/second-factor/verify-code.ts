import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { createFactorRepository, type FactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { FactorSecrets } from './factor-secrets.ts'
import type { RecoveryCodes } from './recovery-codes/recovery-codes.ts'
import type { VerifyFactor } from './second-factor.ts'
import { findStep } from './totp/totp.ts'

export interface VerifyCodeDependencies {
  secrets: Pick<FactorSecrets, 'openTotp'>
  recoveryCodes: Pick<RecoveryCodes, 'use'>
  notify: SendNotice
  localNow: Clock
}

export type VerifyCode = (code: string, audit: Pick<RequestAudit, 'write' | 'address'>) => VerifyFactor

/** Creates the function that shows a second factor by a code of an authenticator app, or by a recovery code. */
export function createVerifyCode({
  secrets,
  recoveryCodes,
  notify,
  localNow,
}: VerifyCodeDependencies): VerifyCode {
  async function useTotp(factors: FactorRepository, { userid }: User, code: string): Promise<boolean> {
    const now = localNow()
    for (const { id, kind, data, confirmedAt } of await factors.find(userid)) {
      if (kind !== 'totp' || !confirmedAt) continue
      const step = findStep(await secrets.openTotp(userid, data), code, now)
      if (step !== undefined && (await factors.use(id, step, new Date(now)))) return true
    }
    return false
  }

  return (code, audit) => async (db, user) => {
    const factors = createFactorRepository(db)
    if (codeKindOf(code) === 'totp') {
      if (await useTotp(factors, user, code)) return ['otp']
      throw codeRefused()
    }
    const left = await recoveryCodes.use(factors, user.userid, code)
    if (left === undefined) throw recoveryCodeRefused()
    await audit.write(db, { name: 'recovery_code.used', userid: user.userid })
    await notify(db, user, { template: 'recovery-code-used', left }, audit.address)
    return ['otp']
  }
}

/** The kind of a code: six digits are of an authenticator app, and any other can only be a recovery code. */
export const codeKindOf = (code: string): 'totp' | 'recovery_code' =>
  /^[0-9]{6}$/.test(code) ? 'totp' : 'recovery_code'

export const codeRefused = () =>
  new AppError(
    'second_factor_refused',
    'The code is wrong or was used already; send the next one, and check the clock of your device',
  )

const recoveryCodeRefused = () =>
  new AppError('second_factor_refused', 'The recovery code is wrong or was used already; send another one')
