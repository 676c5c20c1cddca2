import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { SendNotice } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { LoggedInClient } from '../../client.ts'
import type { RequireCurrentPassword } from '../../require-current-password.ts'
import type { GetTokenUser, LockUser, TokenValidity } from '../../tokens/token-validity.ts'

export interface DeleteAccountDependencies {
  db: Pick<Database, 'transaction'> & Queryable
  usersIn: (transaction: Queryable) => UserRepository
  getTokenUser: GetTokenUser
  lockUser: LockUser
  requireCurrentPassword: RequireCurrentPassword
  notify: SendNotice
  validity: Pick<TokenValidity, 'forget'>
  clock: Clock
}

/**
 * Marks the user of a token as deleted, as an admin does, and ends every token and code of the user, who gets a mail. Throws
 * `wrong_password`, and `invalid_token` when the token has ended.
 */
export function createDeleteAccount(dependencies: DeleteAccountDependencies) {
  const { db, usersIn, getTokenUser, lockUser, requireCurrentPassword, notify, validity, clock } =
    dependencies

  return async (currentPassword: string, caller: LoggedInClient): Promise<void> => {
    const { claims, audit } = caller
    await requireCurrentPassword(await getTokenUser(db, claims), currentPassword, caller)
    await db.transaction(async (transaction) => {
      const users = usersIn(transaction)
      const user = await lockUser(transaction, claims)
      const { userid } = user
      const now = clock()
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
