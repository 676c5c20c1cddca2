import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { createErasureRepository, requireOtherAdmin } from '@latchkey/shared/users/erasure.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'

const DAY_MS = 24 * 3_600_000

/**
 * Marks the user of a token as deleted, as an admin does, and ends every token and code of the user, who gets a mail. With `erase`
 * the data is erased after `erasureDays`, until when an admin can restore the account. Throws what the guard throws, and
 * `last_admin` for an erasure.
 */
export async function deleteAccount(
  { guard, notify, validity, localNow }: Pick<Core, 'guard' | 'notify' | 'validity' | 'localNow'>,
  { erasureDays }: Pick<Config['profile'], 'erasureDays'>,
  { currentPassword, erase }: { currentPassword: string | undefined; erase: boolean },
  client: LoggedInClient,
): Promise<void> {
  const { claims, audit } = client
  await guard.change('deleteAccount', client, currentPassword, async (transaction, user) => {
    const users = guard.usersFor(transaction, user)
    const { userid } = user
    const now = localNow()
    const erasure = erase ? new Date(now + erasureDays * DAY_MS) : undefined
    if (erasure) await requireOtherAdmin(transaction, user)
    await Promise.all([
      erasure && createErasureRepository(transaction).schedule(userid, erasure),
      users.softDelete(userid),
      revokeUserTokens(users, user, now),
      endCodes(transaction, userid, new Date(now)),
      audit.write(transaction, { name: 'account.deleted', userid }),
      notify(transaction, user, { template: 'account-deleted', erasure }, audit.address),
    ])
  })
  validity.forget(claims)
}
