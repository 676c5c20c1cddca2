import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { EmailChange, EmailChangeRepository } from '@latchkey/shared/users/email-change-repository.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { LockUser } from '../../tokens/token-validity.ts'
import type { AttemptCode } from '../one-time-codes/attempt-code.ts'
import type { RequireCode } from '../one-time-codes/require-code.ts'
import type { AccountGuard } from './account-guard.ts'
import type { ApplyEmailChange } from './apply-email-change.ts'

export interface ConfirmEmailChangeDependencies {
  attemptCode: AttemptCode
  transaction: Database['transaction']
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'findById'>
  changesIn: (transaction: Queryable) => Pick<EmailChangeRepository, 'use'>
  requireCode: RequireCode<EmailChange>
  lockUser: LockUser
  guard: Pick<AccountGuard, 'allow'>
  applyEmailChange: ApplyEmailChange
  sharedNow: Clock
}

export type ConfirmEmailChange = (code: string, client: LoggedInClient) => Promise<User>

/**
 * Creates the function that changes the e-mail by the code of its mail, and returns the user as it now is. It throws
 * `email_change_refused` for every fault of the code, and after what guards the account became stronger, `email_taken` when the address was taken since the request, and
 * `rate_limited`.
 */
export function createConfirmEmailChange(dependencies: ConfirmEmailChangeDependencies): ConfirmEmailChange {
  const { attemptCode, requireCode, transaction, usersIn, changesIn } = dependencies
  const { lockUser, guard, applyEmailChange, sharedNow } = dependencies

  return (code, client) => {
    const { claims } = client
    const refusal = {
      code: 'email_change_refused',
      name: 'email.change_refused',
      userid: claims.sub,
    } as const
    return attemptCode(client, claims.sub, refusal, async () => {
      const change = await requireCode(claims.sub, { code })
      return transaction(async (db) => {
        const locked = await lockUser(db, claims)
        const { begunUnder } = change
        const user = await guard.allow(db, locked, { begunUnder, claims, refuse: emailChangeRefused })
        if (!(await changesIn(db).use(change.id, new Date(sharedNow())))) throw emailChangeRefused()
        await applyEmailChange(db, user, change.email, client)
        return (await usersIn(db).findById(claims.sub)) ?? user
      })
    })
  }
}

/** Creates the one error for every reason: the reason would only help an attacker. */
export const emailChangeRefused = () => new AppError('email_change_refused', 'Invalid or expired code')
