import { findProperty, INTERNAL_PROPERTY_PREFIX, NO_PASSWORD, type User } from './user.ts'
import type { UserRepository } from './user-repository.ts'

/**
 * The ban of a user: its end, or `forever`, a space, and the reason. As a property it is read together with the user, so that a
 * login needs no further statement.
 */
export const BAN_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}ban`

/** Present where nobody has shown yet that the e-mail is the user's. */
export const UNCONFIRMED_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}unconfirmed`

const FOREVER = 'forever'

/** What keeps a user from logging in until an admin or a time ends it. */
export interface Ban {
  /** Undefined for a ban without an end. */
  until: Date | undefined
  /** What an admin wrote; no client sees it. */
  reason: string
}

export const formatBan = ({ until, reason }: Ban): string => `${until?.toISOString() ?? FOREVER} ${reason}`

/** Reads a stored ban. One whose end cannot be read has none. */
export function parseBan(stored: string): Ban {
  const [end = '', ...reason] = stored.split(' ')
  const until = new Date(end)
  return { until: Number.isNaN(until.getTime()) ? undefined : until, reason: reason.join(' ') }
}

/** Returns the ban of a user that has not ended at `now`, in milliseconds. */
export function findBan(user: Pick<User, 'properties'>, now: number): Ban | undefined {
  const stored = findProperty(user, BAN_PROPERTY)
  const ban = stored === undefined ? undefined : parseBan(stored)
  return ban?.until && ban.until.getTime() <= now ? undefined : ban
}

export const hasConfirmedEmail = (user: Pick<User, 'properties'>): boolean =>
  findProperty(user, UNCONFIRMED_PROPERTY) === undefined

/**
 * Records that the user has read a mail at the e-mail. The password of an address that nobody had confirmed may be a stranger's, who
 * signed up with it: it ends, unless the caller sets another one. Needs a transaction that has locked the user.
 */
export async function confirmEmail(
  users: Pick<UserRepository, 'setProperty' | 'setPassword'>,
  user: Pick<User, 'userid' | 'properties'>,
  passwordHash = NO_PASSWORD,
): Promise<void> {
  if (hasConfirmedEmail(user)) return
  await users.setPassword(user.userid, passwordHash)
  await users.setProperty(user.userid, UNCONFIRMED_PROPERTY, null)
}
