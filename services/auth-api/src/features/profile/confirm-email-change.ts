import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { CheckCode } from '../../one-time-codes/check-code.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { LockUser } from '../../tokens/token-validity.ts'
import type { ApplyEmailChange } from './apply-email-change.ts'
import type { EmailChange, EmailChangeRepository } from './email-change-repository.ts'

export interface ConfirmEmailChangeDependencies {
  transaction: Database['transaction']
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'findById'>
  changesIn: (transaction: Queryable) => Pick<EmailChangeRepository, 'use'>
  checkCode: CheckCode<EmailChange>
  lockUser: LockUser
  applyEmailChange: ApplyEmailChange
  clock: Clock
}

export type ConfirmEmailChange = (caller: Caller, code: string) => Promise<User>

/**
 * Creates the function that changes the e-mail by the code of its mail, and returns the user as it now is. It throws
 * `email_change_refused` for every fault of the code, and `email_taken` when the address was taken since the request.
 */
export function createConfirmEmailChange(dependencies: ConfirmEmailChangeDependencies): ConfirmEmailChange {
  const { transaction, usersIn, changesIn, checkCode, lockUser, applyEmailChange, clock } = dependencies

  return async (caller, code) => {
    const { claims } = caller
    const change = await checkCode(claims.sub, { code })
    return transaction(async (db) => {
      const user = await lockUser(db, claims)
      if (!(await changesIn(db).use(change.id, new Date(clock())))) throw emailChangeRefused()
      await applyEmailChange(db, user, change.email, caller)
      return (await usersIn(db).findById(claims.sub)) ?? user
    })
  }
}

/** Creates the one error for every reason: the reason would only help an attacker. */
export const emailChangeRefused = () =>
  new AppError('email_change_refused', 'Invalid or expired code; try again, or change the e-mail again')
