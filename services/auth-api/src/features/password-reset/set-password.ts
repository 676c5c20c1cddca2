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
 * Sets the password of a confirmed reset, once, and ends every token issued so far; returns the reset's token.
 * Throws `reset_refused`, or `password_refused` with `violations`, after which the reset can be used still.
 */
export function createSetPassword(dependencies: SetPasswordDependencies) {
  const { transaction, resets, resetsOf, usersOf, secrets, passwords, policy, clock } = dependencies

  /** What can be refused without hashing is refused first: a hash is dear. */
  async function findUsable({ email, token }: NewPassword): Promise<Reset & { userid: string }> {
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

  return async (given: NewPassword): Promise<string> => {
    const { id, userid } = await findUsable(given)
    const violations = findViolations(given.password, policy)
    if (violations.length > 0) {
      throw new AppError('password_refused', 'The password breaks the password policy', {
        details: { violations },
      })
    }
    const passwordHash = await passwords.hash(given.password)
    await transaction(async (db) => {
      const users = usersOf(db)
      // The user's row first, always: two resets of one user then wait for each other instead of deadlocking.
      if (!(await users.lock(userid))) throw resetRefused()
      const now = clock()
      const user = await users.findById(userid)
      // A reset goes with the mailbox it was sent to: after a change of e-mail it is over.
      const isTheirs = user && !user.deletedAt && fold(user.email ?? '') === fold(given.email)
      const isFirst = isTheirs && (await resetsOf(db).use(id, new Date(now)))
      if (!isFirst) throw resetRefused()
      await users.setPassword(userid, passwordHash)
      await users.setProperty(userid, VALID_FROM_PROPERTY, String(validFromAfter(now)))
      await resetsOf(db).endOthers(userid, id, new Date(now))
    })
    return given.token
  }
}
