import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { Reset, ResetRepository } from '@latchkey/shared/users/reset-repository.ts'
import type { Client } from '../../http/client.ts'
import type { AttemptCode } from '../one-time-codes/attempt-code.ts'
import type { CodeSecrets } from '../one-time-codes/code-secrets.ts'
import type { RequireCode } from '../one-time-codes/require-code.ts'

export interface ConfirmCodeDependencies {
  attemptCode: AttemptCode
  requireCode: RequireCode<Reset>
  resets: Pick<ResetRepository, 'confirm'>
  secrets: Pick<CodeSecrets, 'generateToken' | 'hash'>
  sharedNow: Clock
}

export interface CodeConfirmation {
  email: string
  /** The code of the mail: six digits. */
  code: string
  /** The token of the reset request. Without it the newest reset of the e-mail is confirmed. */
  token?: string | undefined
}

const CODE_REFUSED = { code: 'reset_refused', name: 'reset.refused', reason: 'code' } as const

/**
 * Confirms a reset by the code of its mail; returns the token that `resetpassword` requires. Throws `reset_refused` for
 * every fault, and `rate_limited`.
 */
export const createConfirmCode =
  ({ attemptCode, requireCode, resets, secrets, sharedNow }: ConfirmCodeDependencies) =>
  (given: CodeConfirmation, client: Client): Promise<string> =>
    attemptCode(client, given.email, CODE_REFUSED, async () => {
      const { id, userid } = await requireCode(given.email, given)
      const token = given.token ?? secrets.generateToken()
      if (!(await resets.confirm(id, new Date(sharedNow()), secrets.hash(id, token)))) throw resetRefused()
      client.audit.report({ name: 'reset.confirmed', userid })
      return token
    })

/** Creates the one error for every reason: the reason would only help an attacker. */
export const resetRefused = () => new AppError('reset_refused', 'Invalid or expired code or token')
