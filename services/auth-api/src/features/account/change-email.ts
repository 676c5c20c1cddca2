import type { Transaction } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { hasPassword, type User } from '@latchkey/shared/users/user.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'
import { roundUpDuration } from '../../limits/round-up-duration.ts'
import type { Caller } from '../../tokens/claims.ts'
import { guardChanged } from './account-guard.ts'
import { applyEmailChange, isSameMailbox } from './apply-email-change.ts'
import type { Change, Proof } from './begin-change.ts'
import { createRequestEmailChange } from './request-email-change.ts'

type ChangeEmailCore = Pick<
  Core,
  | 'guard'
  | 'limitEmailChanges'
  | 'limitEmailChangesTo'
  | 'limitTakenNames'
  | 'usersIn'
  | 'mails'
  | 'mailLink'
  | 'notify'
  | 'codeSecrets'
  | 'sharedNow'
>

/** Creates the functions that change an e-mail: at once, or by the code of a mail to the new address. */
export function createChangeEmail(
  core: ChangeEmailCore,
  { profile, reset }: Pick<Config, 'profile' | 'reset'>,
) {
  const { guard } = core
  const requestEmailChange = createRequestEmailChange(core, reset)
  const requiresConfirmation = profile.emailChange === 'confirmed'

  const needsCode = (user: User, email: string): boolean =>
    requiresConfirmation && !isSameMailbox(user, email)

  /**
   * Changes the e-mail, or mails a code that confirms it; throws `email_taken`. Decides by the user that the transaction has
   * locked: the e-mail may have changed since the guards.
   */
  async function changeEmail(
    transaction: Transaction,
    locked: User,
    { email, proof: { user: before, begunUnder } }: { email: string; proof: Proof },
    caller: Caller,
  ): Promise<void> {
    const { claims, audit } = caller
    const user = await guard.allow(transaction, locked, { begunUnder, claims, refuse: guardChanged })
    // Another mailbox counts as a mail, which was not counted where the e-mail has changed since.
    if (isSameMailbox(before, email) && !isSameMailbox(user, email)) throw guardChanged()
    if (!needsCode(user, email)) return applyEmailChange(core, transaction, { user, email }, caller)
    await requestEmailChange(transaction, user, { email, begunUnder }, audit)
  }

  /**
   * Runs `update`, which changes the e-mail. Another mailbox counts as a mail. One that needs a code requires the current
   * password; where none does, guesses of taken e-mails are limited. Throws `wrong_password` and `rate_limited`.
   */
  async function guardEmailChange<Result>(
    client: LoggedInClient,
    { email, currentPassword }: { email: string; currentPassword: string | undefined },
    update: (proof: Proof) => Promise<Result>,
  ): Promise<Result> {
    const { claims } = client
    const changeOf = (user: User): Change => {
      if (!needsCode(user, email)) return 'setEmail'
      if (currentPassword !== undefined || !hasPassword(user)) return 'confirmNewEmail'
      throw new AppError('wrong_password', 'A change of the e-mail requires the current password', {
        reason: 'password_missing',
      })
    }
    const proof = await guard.begin(changeOf, client, currentPassword)
    if (isSameMailbox(proof.user, email)) return update(proof)
    // A mail counts for the user who causes it, and for the address that receives it, now or when the e-mail changes again.
    await core.limitEmailChanges(client, claims.sub)
    await core.limitEmailChangesTo(client, email)
    if (!requiresConfirmation) return core.limitTakenNames(client, claims.sub, () => update(proof))
    // Neither the answer nor its time shows whether the e-mail is taken.
    return roundUpDuration(() => update(proof))
  }

  return { changeEmail, guardEmailChange }
}
