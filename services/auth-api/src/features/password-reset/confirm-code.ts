import type { Clock } from '@latchkey/shared/clock.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { CodeSecrets } from '../../one-time-codes/code-secrets.ts'
import { resetRefused } from './reset-refused.ts'
import type { ResetRepository } from './reset-repository.ts'

export interface ConfirmCodeDependencies {
  resets: Pick<ResetRepository, 'findNewest' | 'countAttempt' | 'confirm'>
  secrets: Pick<CodeSecrets, 'newToken' | 'hash' | 'isHashOf'>
  attempts: number
  clock: Clock
}

export interface CodeConfirmation {
  email: string
  /** Six digits. */
  code: string
  /** The token of the reset request. Without it the newest open reset of the e-mail is confirmed. */
  token?: string | undefined
}

export type ConfirmCode = ReturnType<typeof createConfirmCode>

/**
 * Confirms a reset by the code of its mail; returns the token that `resetpassword` requires. Throws `reset_refused` for
 * every fault.
 */
export function createConfirmCode({ resets, secrets, attempts, clock }: ConfirmCodeDependencies) {
  return async (
    { email, code, token }: CodeConfirmation,
    audit: Pick<RequestAudit, 'report'>,
  ): Promise<string> => {
    const now = new Date(clock())
    const reset = await resets.findNewest(fold(email))
    if (!reset) throw resetRefused()
    if (token !== undefined && !secrets.isHashOf(reset.tokenHash, reset.id, token)) throw resetRefused()
    // The database counts before the code is compared, so that concurrent guesses cannot exceed `attempts`.
    if (!(await resets.countAttempt(reset.id, attempts, now))) throw resetRefused()
    if (!secrets.isHashOf(reset.codeHash, reset.id, code)) throw resetRefused()
    const confirmed = token ?? secrets.newToken()
    if (!(await resets.confirm(reset.id, now, secrets.hash(reset.id, confirmed)))) throw resetRefused()
    audit.report({ name: 'reset.confirmed', userid: reset.userid })
    return confirmed
  }
}
