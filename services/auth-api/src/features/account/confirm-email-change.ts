import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createEmailChangeRepository } from '@latchkey/shared/users/email-change-repository.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'
import { guardCodeAttempt } from '../one-time-codes/guard-code-attempt.ts'
import { requireCode } from '../one-time-codes/require-code.ts'
import { applyEmailChange } from './apply-email-change.ts'
import { getProfile } from './get-profile.ts'
import type { ProfileRecord } from './profile-repository.ts'

type ConfirmEmailChangeCore = Pick<
  Core,
  'limitCodes' | 'db' | 'transaction' | 'codeSecrets' | 'lockUser' | 'guard' | 'notify' | 'sharedNow'
>

const CODE_REFUSED = { code: 'email_change_refused', name: 'email.change_refused' } as const

/**
 * Creates the function that changes the e-mail by the code of its mail, and returns the profile as it now is. It throws
 * `email_change_refused` for every fault of the code, and where what guards the account has become stronger; `email_taken` when
 * the address was taken since the request; and `rate_limited`.
 */
export function createConfirmEmailChange(
  core: ConfirmEmailChangeCore,
  { attempts }: Pick<Config['reset'], 'attempts'>,
) {
  const { db, transaction, lockUser, guard, sharedNow } = core
  const codes = {
    codes: createEmailChangeRepository(db),
    secrets: core.codeSecrets.email,
    attempts,
    refusal: emailChangeRefused,
    sharedNow,
  }

  return (code: string, client: LoggedInClient): Promise<ProfileRecord> => {
    const { claims } = client
    const attempt = { account: claims.sub, userid: claims.sub, ...CODE_REFUSED }
    return guardCodeAttempt(core, client, attempt, async () => {
      const { id, email, begunUnder } = await requireCode(codes, claims.sub, { code })
      return transaction(async (db) => {
        const locked = await lockUser(db, claims)
        const user = await guard.allow(db, locked, { begunUnder, claims, refuse: emailChangeRefused })
        if (!(await createEmailChangeRepository(db).use(id, new Date(sharedNow()))))
          throw emailChangeRefused()
        await applyEmailChange(core, db, { user, email }, client)
        return getProfile({ db, sharedNow }, { attempts }, claims.sub)
      })
    })
  }
}

/** Creates the one error for every reason: the reason would only help an attacker. */
const emailChangeRefused = () => new AppError('email_change_refused', 'Invalid or expired code')
