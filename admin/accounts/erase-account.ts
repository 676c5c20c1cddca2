import { createErasureRepository, eraseUser, requireOtherAdmin } from '@latchkey/shared/users/erasure.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { AdminContext } from '../admin-context.ts'
import { recordEvent } from './record-event.ts'
import { withLockedAccount } from './with-locked-account.ts'

/** Erases everything of a person, at once. Nothing restores it. */
export function eraseAccount({ db, localNow }: AdminContext, login: string): Promise<User> {
  return withLockedAccount(db, login, async (_users, user, transaction) => {
    const now = new Date(localNow())
    await requireOtherAdmin(transaction, user)
    const erasures = createErasureRepository(transaction)
    const { erasedAt } = (await erasures.find(user.userid)) ?? {}
    if (erasedAt) throw new Error(`${user.userid} was erased at ${erasedAt.toISOString()}`)
    await erasures.schedule(user.userid, now)
    await eraseUser(transaction, user, now)
    await recordEvent(transaction, 'account.erased', user.userid, now.getTime())
  })
}
