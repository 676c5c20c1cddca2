import type { Queryable } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { wrongPassword } from '../../require-current-password.ts'
import { roundUpDuration } from '../../round-up-duration.ts'
import type { Caller, Claims } from '../../tokens/claims.ts'
import type { GetTokenUser } from '../../tokens/token-validity.ts'
import { type ApplyEmailChange, isSameMailbox } from './apply-email-change.ts'
import type { RequestEmailChange } from './request-email-change.ts'

export interface ChangeEmailDependencies {
  /** Whether another mailbox has to be confirmed by a code: EMAIL_CHANGE is `confirmed`. */
  isConfirmed: boolean
  db: Queryable
  getTokenUser: GetTokenUser
  /** Throws for a user with a second factor who has not logged in with it recently. */
  requireFreshFactor: (user: User, claims: Claims) => void
  requestEmailChange: RequestEmailChange
  applyEmailChange: ApplyEmailChange
}

/** The limits of requests for another e-mail. Each throws when it is exceeded. */
export interface EmailChangeGuards {
  requirePassword: (user: User, password: string) => Promise<void>
  /** Counts a mail that a user causes, and that an address receives. */
  limitMails: (userid: string, email: string) => Promise<void>
  /** Counts the refusals of taken e-mails. */
  limitTaken: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/** Creates what changes an e-mail: at once, or by the code of a mail to the new address. */
export function createChangeEmail(dependencies: ChangeEmailDependencies) {
  const { isConfirmed, db, getTokenUser, requireFreshFactor } = dependencies
  const { requestEmailChange, applyEmailChange } = dependencies

  const needsCode = (user: User, email: string): boolean => isConfirmed && !isSameMailbox(user, email)

  /** Decides by the user that the transaction has locked: the e-mail may have changed since the guards. */
  const changeEmail: ApplyEmailChange = async (transaction, user, email, caller) => {
    requireFreshFactor(user, caller.claims)
    await (needsCode(user, email)
      ? requestEmailChange(transaction, user, email, caller.audit)
      : applyEmailChange(transaction, user, email, caller))
  }

  /**
   * Runs `update`, which changes the e-mail, behind the guards. An e-mail that needs a code requires the current password;
   * where none does, guesses of taken e-mails are limited.
   */
  async function guardEmailChange<Result>(
    caller: Caller,
    { email, currentPassword }: { email: string; currentPassword: string | undefined },
    { requirePassword, limitMails, limitTaken }: EmailChangeGuards,
    update: () => Promise<Result>,
  ): Promise<Result> {
    if (!isConfirmed) return limitTaken(update)
    const user = await getTokenUser(db, caller.claims)
    if (!needsCode(user, email)) return update()
    if (currentPassword === undefined)
      throw wrongPassword('Send the current password as currentPassword to change the e-mail')
    await requirePassword(user, currentPassword)
    await limitMails(user.userid, email)
    // Whether the e-mail is taken shows neither in the answer nor in its time.
    return roundUpDuration(update)
  }

  return { changeEmail, guardEmailChange }
}
