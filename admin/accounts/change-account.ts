import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { createErasureRepository } from '@latchkey/shared/users/erasure.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { AdminContext } from '../admin-context.ts'
import { requireNoFaults } from '../fault.ts'
import { findPropertyFaults, findRoleFaults, findUnknownRoleFault } from './account-fields.ts'
import { findPasswordFaults } from './password-faults.ts'
import { recordEvent } from './record-event.ts'
import { withLockedAccount } from './with-locked-account.ts'

/**
 * Sets the role, or removes it if empty. Revokes every token issued so far. `known` are the roles that routes may require;
 * without it, any role is set.
 */
export function setAccountRole(
  { db, localNow, notify }: AdminContext,
  login: string,
  { role, known }: { role: string; known: readonly string[] | undefined },
): Promise<User> {
  requireNoFaults('The role was not set', [
    ...findRoleFaults(role),
    ...(known ? findUnknownRoleFault(role, known) : []),
  ])
  return withLockedAccount(db, login, async (users, user, transaction) => {
    const { userid } = user
    await users.setRole(userid, role || null)
    await revokeUserTokens(users, user, localNow())
    await recordEvent(transaction, 'role.changed', userid, localNow())
    await notify(transaction, user, { template: 'roles-changed', role: role || 'user' }, undefined)
  })
}

/** Sets a password that satisfies the policy. Ends every token and every mailed code of the user. */
export async function setAccountPassword(
  { db, localNow, policy, hashPassword, notify }: AdminContext,
  login: string,
  password: string,
): Promise<User> {
  requireNoFaults('The password was not set', findPasswordFaults(password, policy))
  const passwordHash = await hashPassword(password)
  return withLockedAccount(db, login, async (users, user, transaction) => {
    const { userid } = user
    await users.setPassword(userid, passwordHash)
    await revokeUserTokens(users, user, localNow())
    await endCodes(transaction, userid, new Date(localNow()))
    await recordEvent(transaction, 'password.changed', userid, localNow())
    await notify(transaction, user, { template: 'password-changed' }, undefined)
  })
}

/** Sets a property, or removes it if the value is empty. */
export function setAccountProperty(
  { db }: AdminContext,
  login: string,
  name: string,
  value: string,
): Promise<User> {
  requireNoFaults('The property was not set', findPropertyFaults(name, value))
  return withLockedAccount(db, login, async (users, { userid }) => {
    await users.setProperty(userid, name, value === '' ? null : value)
    await users.touch(userid)
  })
}

/** Marks the user as deleted. Its tokens and codes stay ended: a restored user has to log in again. */
export function deleteAccount({ db, localNow }: AdminContext, login: string): Promise<User> {
  return withLockedAccount(db, login, async (users, user, transaction) => {
    if (user.deletedAt) throw new Error(`${user.username} is deleted already`)
    await users.softDelete(user.userid)
    await revokeUserTokens(users, user, localNow())
    await endCodes(transaction, user.userid, new Date(localNow()))
    await recordEvent(transaction, 'account.deleted', user.userid, localNow())
  })
}

export function restoreAccount({ db, localNow }: AdminContext, login: string): Promise<User> {
  return withLockedAccount(db, login, async (users, user, transaction) => {
    const erasures = createErasureRepository(transaction)
    const { erasedAt } = (await erasures.find(user.userid)) ?? {}
    if (erasedAt)
      throw new Error(`${user.userid} was erased at ${erasedAt.toISOString()}: nothing is left to restore`)
    if (!user.deletedAt) throw new Error(`${user.username} is not deleted`)
    await erasures.cancel(user.userid)
    await users.restore(user.userid)
    await endCodes(transaction, user.userid, new Date(localNow()))
    await recordEvent(transaction, 'account.restored', user.userid, localNow())
  })
}

/** Ends every token and every mailed code of the user; the password stays. */
export function revokeTokens({ db, localNow }: AdminContext, login: string): Promise<User> {
  return withLockedAccount(db, login, async (users, user, transaction) => {
    const { userid } = user
    await revokeUserTokens(users, user, localNow())
    await endCodes(transaction, userid, new Date(localNow()))
    await recordEvent(transaction, 'sessions.logged_out', userid, localNow())
  })
}
