import { findSchemeName, getScheme } from '@latchkey/shared/passwords/schemes.ts'
import { type Ban, findBan, hasConfirmedEmail } from '@latchkey/shared/users/account-state.ts'
import type { Erasure } from '@latchkey/shared/users/erasure.ts'
import type { ListedUser } from '@latchkey/shared/users/many-users-repository.ts'
import { INTERNAL_PROPERTY_PREFIX, roleOf, type User, validFromOf } from '@latchkey/shared/users/user.ts'
import { formatFields, formatTable } from '../console/format-table.ts'

/** Everything an administrator may see of a user: the scheme of the hash, never the hash. */
export function describeAccount(user: User, now: number, erasure?: Erasure): string {
  const validFrom = validFromOf(user)
  const properties = user.properties.filter(({ name }) => !name.startsWith(INTERNAL_PROPERTY_PREFIX))
  return formatFields([
    ['userid', user.userid],
    ['username', user.username],
    ['email', user.email ?? ''],
    ['name', user.name ?? ''],
    ['role', roleOf(user)],
    ['password', describeHash(user.passwordHash)],
    ['created', toText(user.createdAt)],
    ['updated', toText(user.updatedAt)],
    ['deleted', toText(user.deletedAt)],
    [erasure?.erasedAt ? 'erased' : 'erasure due', toText(erasure?.erasedAt ?? erasure?.dueAt ?? null)],
    ['banned', describeBan(findBan(user, now))],
    [
      'e-mail',
      hasConfirmedEmail(user) ? '' : 'not confirmed: the user has to set a new password by a mailed code',
    ],
    ['tokens from', validFrom > 0 ? toText(new Date(validFrom * 1000)) : 'any time'],
    ...properties.map(({ name, value }) => [`property ${name}`, value ?? ''] as const),
  ])
}

const describeBan = (ban: Ban | undefined): string =>
  ban ? `${ban.until?.toISOString() ?? 'for ever'} ${ban.reason}`.trim() : ''

export const describeAccounts = (users: readonly ListedUser[], now: number): string =>
  formatTable(
    ['userid', 'username', 'email', 'name', 'role', 'state'],
    users.map((user) => [
      user.userid,
      user.username,
      user.email ?? '',
      user.name ?? '',
      user.role || 'user',
      describeState(user, now),
    ]),
  )

function describeState(user: ListedUser, now: number): string {
  if (user.deletedAt) return `deleted ${toText(user.deletedAt)}`
  const ban = findBan(user, now)
  return ban ? `banned ${toText(ban.until ?? null)}`.trim() : 'active'
}

function describeHash(stored: string): string {
  const scheme = findSchemeName(stored)
  if (!scheme) return 'cannot be verified: the scheme of the hash is unknown'
  const fault = getScheme(scheme).findFault(stored)
  return fault ? `cannot be verified: the hash ${fault}` : `hashed by ${scheme}`
}

const toText = (moment: Date | null): string => moment?.toISOString() ?? ''
