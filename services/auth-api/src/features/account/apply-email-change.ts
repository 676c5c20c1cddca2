import type { Transaction } from '@latchkey/shared/database/database.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { fold, type User } from '@latchkey/shared/users/user.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Core } from '../../core.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { GuardedUser } from './account-guard.ts'

/**
 * Changes the e-mail of a token's user inside a transaction that has locked the user. Another mailbox ends the codes that were
 * mailed to the user, what was begun, and every token but the caller's, and the old address gets a notice. Throws `email_taken`.
 */
export async function applyEmailChange(
  { guard, notify, sharedNow }: Pick<Core, 'guard' | 'notify' | 'sharedNow'>,
  transaction: Transaction,
  { user, email }: { user: GuardedUser; email: string },
  { claims, audit }: Caller,
): Promise<void> {
  const users = guard.usersFor(transaction, user)
  await users.setEmail(user.userid, email)
  if (isSameMailbox(user, email)) return
  const now = sharedNow()
  // These follow the new e-mail. Sent with it, one of them could fail first and hide that the e-mail is taken.
  await Promise.all([
    endCodes(transaction, user.userid, new Date(now)),
    revokeUserTokens(users, user, now, { except: claims }),
    notify(transaction, user, { template: 'email-changed' }, audit.address),
    audit.write(transaction, { name: 'email.changed', userid: user.userid }),
  ])
}

/** True where both addresses are one mailbox: their case does not matter. */
export const isSameMailbox = (user: User, email: string): boolean => fold(user.email ?? '') === fold(email)
