import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { findViolations, type PasswordPolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import { VALID_FROM_PROPERTY } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { validFromAfter } from '@latchkey/shared/users/valid-from.ts'
import { resetRefused } from './reset-refused.ts'
import type { Reset, ResetRepository } from './reset-repository.ts'
import type { ResetSecrets } from './reset-secrets.ts'

export interface SetPasswordDependencies {
  transaction: <Result>(work: (transaction: Queryable) => Promise<Result>) => Promise<Result>
  resets: Pick<ResetRepository, 'findNewest'>
  resetsOf: (transaction: Queryable) => Pick<ResetRepository, 'use' | 'endOthers'>
  usersOf: (transaction: Queryable) => UserRepository
  secrets: Pick<ResetSecrets, 'isHashOf'>
  passwords: Pick<PasswordHasher, 'hash'>
  policy: PasswordPolicy
  clock: Clock
}

export interface NewPassword {
  email: string
  token: string
  password: string
}

export type SetPassword = ReturnType<typeof createSetPassword>

/**
 * Sets the password of a confirmed reset, once, and ends every token issued so far; returns the reset's token. Throws
 * `reset_refused`, or `password_refused` with `violations`, after which the reset stays usable.
 */
export function createSetPassword(dependencies: SetPasswordDependencies) {
  const { transaction, resets, resetsOf, usersOf, secrets, passwords, policy, clock } = dependencies

  /** Refuses what it can before the password is hashed, which is expensive. */
  async function findUsable({
    email,
    token,
  }: Omit<NewPassword, 'password'>): Promise<Reset & { userid: string }> {
    const reset = await resets.findNewest(fold(email))
    const isUsable =
      reset?.userid !== undefined &&
      secrets.isHashOf(reset.tokenHash, reset.id, token) &&
      reset.confirmedAt !== undefined &&
      reset.usedAt === undefined &&
      reset.expiresAt.getTime() > clock()
    if (!isUsable || reset.userid === undefined) throw resetRefused()
    return { ...reset, userid: reset.userid }
  }

  function checkPolicy(password: string): void {
    const violations = findViolations(password, policy)
    if (violations.length === 0) return
    throw new AppError('password_refused', 'The password breaks the password policy', {
      details: { violations },
    })
  }

  async function useReset(
    db: Queryable,
    id: string,
    userid: string,
    email: string,
    now: Date,
  ): Promise<void> {
    const user = await usersOf(db).findById(userid)
    // A reset belongs to the mailbox that it was sent to: a change of e-mail ends it.
    const isTheirs = user && !user.deletedAt && fold(user.email ?? '') === fold(email)
    const isFirst = isTheirs && (await resetsOf(db).use(id, now))
    if (!isFirst) throw resetRefused()
  }

  return async ({ email, token, password }: NewPassword): Promise<string> => {
    const { id, userid } = await findUsable({ email, token })
    checkPolicy(password)
    const passwordHash = await passwords.hash(password)
    await transaction(async (db) => {
      const users = usersOf(db)
      // Always the user's row first: two resets of one user then wait for each other instead of deadlocking.
      if (!(await users.lock(userid))) throw resetRefused()
      const now = clock()
      await useReset(db, id, userid, email, new Date(now))
      await users.setPassword(userid, passwordHash)
      await users.setProperty(userid, VALID_FROM_PROPERTY, String(validFromAfter(now)))
      await resetsOf(db).endOthers(userid, id, new Date(now))
    })
    return token
  }
}
