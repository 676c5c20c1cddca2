import type { Transaction } from '@latchkey/shared/database/database.ts'
import type { SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { fold, type User } from '@latchkey/shared/users/user.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { AccountGuard, GuardedUser } from './account-guard.ts'

export interface ApplyEmailChangeDependencies {
  guard: Pick<AccountGuard, 'usersFor'>
  notify: SendNotice
  sharedNow: Clock
}

/** Changes the e-mail of a token's user inside a transaction that has locked the user. */
export type ApplyEmailChange = (
  transaction: Transaction,
  user: GuardedUser,
  email: string,
  caller: Caller,
) => Promise<void>

/**
 * Creates the function that changes an e-mail. Another mailbox ends the codes that were mailed to the user, what was begun, and every token
 * but the caller's, and the old address gets a notice. Throws `email_taken`.
 */
export function createApplyEmailChange({
  guard,
  notify,
  sharedNow,
}: ApplyEmailChangeDependencies): ApplyEmailChange {
  return async (transaction, user, email, { claims, audit }) => {
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
}

/** Whether both addresses are one mailbox: their case does not matter. */
export const isSameMailbox = (user: User, email: string): boolean => fold(user.email ?? '') === fold(email)
