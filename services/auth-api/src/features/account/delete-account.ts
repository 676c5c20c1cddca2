import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'

/**
 * Marks the user of a token as deleted, as an admin does, and ends every token and code of the user, who gets a mail. Throws
 * what the guard throws.
 */
export async function deleteAccount(
  { guard, notify, validity, localNow }: Pick<Core, 'guard' | 'notify' | 'validity' | 'localNow'>,
  currentPassword: string | undefined,
  client: LoggedInClient,
): Promise<void> {
  const { claims, audit } = client
  await guard.change('deleteAccount', client, currentPassword, async (transaction, user) => {
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
