import { MAX_REASON } from '@latchkey/shared/audit/audit-repository.ts'
import { BAN_PROPERTY, findBan, formatBan } from '@latchkey/shared/users/account-state.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { AdminContext } from '../admin-context.ts'
import { type Fault, requireNoFaults } from '../fault.ts'
import { parseMoment } from '../moment.ts'
import { recordEvent } from './record-event.ts'
import { withLockedAccount } from './with-locked-account.ts'

/** An empty `until` or `reason` means none. */
export interface GivenBan {
  until: string
  reason: string
}

/** Keeps a user from logging in, and ends every token and every mailed code of the user. Replaces an earlier ban. */
export async function banAccount(
  { db, localNow }: AdminContext,
  login: string,
  { until: text, reason: given }: GivenBan,
): Promise<User> {
  const reason = given.trim()
  const until = text === '' ? undefined : parseMoment(text)
  requireNoFaults('The user was not banned', [
    ...findUntilFaults(text, until, localNow()),
    ...findLineFaults(reason),
  ])
  return withLockedAccount(db, login, async (users, user, transaction) => {
    const { userid } = user
    const now = localNow()
    await users.setProperty(userid, BAN_PROPERTY, formatBan({ until, reason }))
    await revokeUserTokens(users, user, now)
    await endCodes(transaction, userid, new Date(now))
    await recordEvent(transaction, 'account.banned', userid, now, reason || undefined)
  })
}

/** Ends a ban. Tokens from before stay ended. */
export function unbanAccount({ db, localNow }: AdminContext, login: string): Promise<User> {
  return withLockedAccount(db, login, async (users, user, transaction) => {
    if (!findBan(user, localNow())) throw new Error(`${user.username} is not banned`)
    await users.setProperty(user.userid, BAN_PROPERTY, null)
    await recordEvent(transaction, 'account.unbanned', user.userid, localNow())
  })
}

function findUntilFaults(text: string, until: Date | undefined, now: number): Fault[] {
  if (text !== '' && !until)
    return [{ field: 'until', reason: 'must be a date or a time such as 2026-12-31 or 2026-12-31T18:00:00Z' }]
  return until && until.getTime() <= now ? [{ field: 'until', reason: 'must be in the future' }] : []
}

/** The faults of what an admin writes into the audit trail. */
export const findLineFaults = (reason: string): Fault[] =>
  [...reason].length > MAX_REASON || /\p{Cc}/u.test(reason)
    ? [{ field: 'reason', reason: `must be one line of at most ${MAX_REASON} characters` }]
    : []
