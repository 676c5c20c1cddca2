import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { SendNotice } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { GetTokenUser, LockUser, TokenValidity } from '../../tokens/token-validity.ts'

export interface DeleteAccountDependencies {
  db: Pick<Database, 'transaction'> & Queryable
  usersIn: (transaction: Queryable) => UserRepository
  getTokenUser: GetTokenUser
  lockUser: LockUser
  notify: SendNotice
  validity: Pick<TokenValidity, 'forget'>
  clock: Clock
}

/**
 * Marks the user of a token as deleted, as an admin does, and ends every token and code of the user, who gets a mail. Throws
 * `wrong_password`, and `invalid_token` when the token has ended.
 */
export function createDeleteAccount(dependencies: DeleteAccountDependencies) {
  const { db, usersIn, getTokenUser, lockUser, notify, validity, clock } = dependencies

  /** `requireCurrent` throws unless the client has sent the user's current password. */
  return async ({ claims, audit }: Caller, requireCurrent: (user: User) => Promise<void>): Promise<void> => {
    await requireCurrent(await getTokenUser(db, claims))
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
