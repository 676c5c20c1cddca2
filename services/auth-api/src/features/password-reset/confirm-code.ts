import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createResetRepository } from '@latchkey/shared/users/reset-repository.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import { guardCodeAttempt } from '../one-time-codes/guard-code-attempt.ts'
import { requireCode } from '../one-time-codes/require-code.ts'

type ConfirmCodeCore = Pick<Core, 'limitCodes' | 'db' | 'codeSecrets' | 'sharedNow'>

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
export function createConfirmCode(core: ConfirmCodeCore, { attempts }: Config['reset']) {
  const { sharedNow } = core
  const resets = createResetRepository(core.db)
  const secrets = core.codeSecrets.reset
  const codes = { codes: resets, secrets, attempts, refusal: resetRefused, sharedNow }

  return (given: CodeConfirmation, client: Client): Promise<string> =>
    guardCodeAttempt(core, client, { account: given.email, ...CODE_REFUSED }, async () => {
      const { id, userid } = await requireCode(codes, given.email, given)
      const token = given.token ?? secrets.generateToken()
      if (!(await resets.confirm(id, new Date(sharedNow()), secrets.hash(id, token)))) throw resetRefused()
      client.audit.report({ name: 'reset.confirmed', userid })
      return token
    })
}

/** Creates the one error for every reason: the reason would only help an attacker. */
export const resetRefused = () => new AppError('reset_refused', 'Invalid or expired code or token')
