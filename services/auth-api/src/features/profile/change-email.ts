import type { Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { LoggedInClient } from '../../client.ts'
import type { Limits } from '../../limits/limits.ts'
import { type RequireCurrentPassword, wrongPassword } from '../../require-current-password.ts'
import { roundUpDuration } from '../../round-up-duration.ts'
import type { Caller, Claims } from '../../tokens/claims.ts'
import type { GetTokenUser } from '../../tokens/token-validity.ts'
import { type ApplyEmailChange, isSameMailbox } from './apply-email-change.ts'
import type { RequestEmailChange } from './request-email-change.ts'

export interface ChangeEmailDependencies {
  /** Whether another mailbox has to be confirmed by a code: EMAIL_CHANGE is `confirmed`. */
  requiresConfirmation: boolean
  db: Queryable
  getTokenUser: GetTokenUser
  /** Throws for a user with a second factor who has not logged in with it recently. */
  requireFreshFactor: (user: User, claims: Claims) => void
  requireCurrentPassword: RequireCurrentPassword
  limits: Pick<Limits, 'limitEmailChanges' | 'limitEmailChangesTo' | 'limitTakenEmails'>
  requestEmailChange: RequestEmailChange
  applyEmailChange: ApplyEmailChange
}

export type ChangeEmail = ReturnType<typeof createChangeEmail>

/** Creates the functions that change an e-mail: at once, or by the code of a mail to the new address. */
export function createChangeEmail(dependencies: ChangeEmailDependencies) {
  const { requiresConfirmation, db, getTokenUser, requireFreshFactor } = dependencies
  const { requireCurrentPassword, limits, requestEmailChange, applyEmailChange } = dependencies

  const needsCode = (user: User, email: string): boolean =>
    requiresConfirmation && !isSameMailbox(user, email)

  /**
   * Changes the e-mail, or mails a code that confirms it; throws `email_taken`. Decides by the user that the transaction has
   * locked: the e-mail may have changed since the guards.
   */
  async function changeEmail(
    transaction: Transaction,
    user: User,
    email: string,
    caller: Caller,
  ): Promise<void> {
    requireFreshFactor(user, caller.claims)
    await (needsCode(user, email)
      ? requestEmailChange(transaction, user, email, caller.audit)
      : applyEmailChange(transaction, user, email, caller))
  }

  /**
   * Runs `update`, which changes the e-mail. An e-mail that needs a code requires the current password, and counts as a mail;
   * where none does, guesses of taken e-mails are limited. Throws `wrong_password` and `rate_limited`.
   */
  async function guardEmailChange<Result>(
    client: LoggedInClient,
    { email, currentPassword }: { email: string; currentPassword: string | undefined },
    update: () => Promise<Result>,
  ): Promise<Result> {
    const { request, claims } = client
    if (!requiresConfirmation) return limits.limitTakenEmails(request, claims.sub, update)
    const user = await getTokenUser(db, claims)
    if (!needsCode(user, email)) return update()
    if (currentPassword === undefined)
      throw wrongPassword('Send the current password as currentPassword to change the e-mail')
    await requireCurrentPassword(user, currentPassword, client)
    // A mail counts for the user who causes it, and for the address that receives it.
    await limits.limitEmailChanges(request, user.userid)
    await limits.limitEmailChangesTo(request, email)
    // Whether the e-mail is taken shows neither in the answer nor in its time.
    return roundUpDuration(update)
  }

  return { changeEmail, guardEmailChange }
}
