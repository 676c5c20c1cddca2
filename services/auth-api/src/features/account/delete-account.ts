import type { SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { TokenValidity } from '../../tokens/token-validity.ts'
import type { AccountGuard } from './account-guard.ts'

export interface DeleteAccountDependencies {
  guard: Pick<AccountGuard, 'change' | 'usersFor'>
  notify: SendNotice
  validity: Pick<TokenValidity, 'forget'>
  localNow: Clock
}

/**
 * Marks the user of a token as deleted, as an admin does, and ends every token and code of the user, who gets a mail. Throws
 * what the guard throws.
 */
export function createDeleteAccount(dependencies: DeleteAccountDependencies) {
  const { guard, notify, validity, localNow } = dependencies

  return async (currentPassword: string | undefined, caller: LoggedInClient): Promise<void> => {
    const { claims, audit } = caller
    await guard.change('deleteAccount', caller, currentPassword, async (transaction, user) => {
      const users = guard.usersFor(transaction, user)
      const { userid } = user
      const now = localNow()
      await Promise.all([
        users.softDelete(userid),
        revokeUserTokens(users, user, now),
        endCodes(transaction, userid, new Date(now)),
        audit.write(transaction, { name: 'account.deleted', userid }),
        notify(transaction, user, { template: 'account-deleted' }, audit.address),
      ])
    })
    validity.forget(claims)
  }
}
