import type { Transaction } from '@latchkey/shared/database/database.ts'
import type { Mails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import { accountOf } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { languageOf, type User } from '@latchkey/shared/users/user.ts'

type OwnerMail = 'email-in-use' | 'sign-up-taken' | 'sign-up-deleted'

/**
 * Tells the owner of an e-mail that somebody else wants to use it, in place of the mail with a code. A deleted user gets the mail
 * that says so, and no other one, after the same work.
 */
export function tellOwner(
  mails: Mails,
  transaction: Transaction,
  owner: User,
  { template, expiresAt }: { template: OwnerMail; expiresAt: Date },
): Promise<string> {
  const mail = { template, variables: accountOf(owner) }
  if (!owner.email || (owner.deletedAt && template !== 'sign-up-deleted'))
    return mails.acceptDecoy(transaction, mail)
  return mails.accept(transaction, { ...mail, to: owner.email, language: languageOf(owner), expiresAt })
}
