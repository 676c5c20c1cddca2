import type { Database, Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Config } from '../../config.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { Claims } from '../../tokens/claims.ts'
import type { LockUser } from '../../tokens/token-validity.ts'
import { type BeginChangeDependencies, type Change, createBeginChange, type Proof } from './begin-change.ts'
import { createGuardDescription, type GuardDescriptionDependencies } from './guard-description.ts'

declare const GUARDED: unique symbol

/** A user whose row is locked, and whose guards a change may now touch. Only the guard makes one. */
export type GuardedUser = User & { readonly [GUARDED]: true }

/** The users for code that the guard has not let through: without the writes that change what guards an account. */
export type UnguardedUsers = Omit<UserRepository, 'setPassword' | 'setEmail' | 'setUsername' | 'softDelete'>

export interface AccountGuardDependencies
  extends Omit<BeginChangeDependencies, 'hasFactor' | 'describe'>,
    GuardDescriptionDependencies {
  db: Pick<Database, 'transaction'> & Queryable
  lockUser: LockUser
}

export type AccountGuard = ReturnType<typeof createAccountGuard>

/**
 * Creates the functions that decide whether a user may change what guards the account: `begin` by what the user shows, `allow`,
 * on the locked row, by what has changed since. No password is verified while a row is locked, and none is asked for twice.
 */
export function createAccountGuard(
  { secondFactor, login }: Pick<Config, 'secondFactor' | 'login'>,
  dependencies: AccountGuardDependencies,
) {
  const { db, requireLogin, lockUser } = dependencies
  const { hasFactor, describe, isDescribedBy } = createGuardDescription(secondFactor, dependencies)
  const begin = createBeginChange(login, { ...dependencies, hasFactor, describe })

  /**
   * Allows a change of a locked user that was begun under `begunUnder`. Throws what `refuse` creates when the password is another
   * one or a factor was added since, and `insufficient_user_authentication` for a token that was won without the user's factors.
   * Without `claims` the caller has another proof: a factor that answers a challenge.
   */
  async function allow(
    transaction: Queryable,
    user: User,
    {
      begunUnder,
      claims,
      refuse,
    }: { begunUnder?: string | undefined; claims?: Claims | undefined; refuse: () => AppError },
  ): Promise<GuardedUser> {
    if (!(await isDescribedBy(transaction, user, begunUnder))) throw refuse()
    if (claims && hasFactor(user)) requireLogin(claims, { secondFactor: true })
    return user as GuardedUser
  }

  /** Locks the user of a token for a change that was begun in this request. */
  const lock = async (
    transaction: Queryable,
    { claims }: Pick<LoggedInClient, 'claims'>,
    { begunUnder }: Proof,
  ): Promise<GuardedUser> =>
    allow(transaction, await lockUser(transaction, claims), { begunUnder, claims, refuse: guardChanged })

  return {
    hasFactor,
    describe,
    begin,
    allow,
    lock,

    /** Runs a change of one step, in a transaction that has locked the user. Throws what `begin` and `allow` throw. */
    async change<Result>(
      change: Change,
      client: LoggedInClient,
      currentPassword: string | undefined,
      work: (transaction: Transaction, user: GuardedUser, proof: Proof) => Promise<Result>,
    ): Promise<Result> {
      const proof = await begin(change, client, currentPassword)
      return db.transaction(async (transaction) =>
        work(transaction, await lock(transaction, client, proof), proof),
      )
    },

    /** The users with every write, for a change of `_user`. */
    usersFor: (transaction: Queryable, _user: GuardedUser): UserRepository =>
      createUserRepository(transaction),
  }
}

export const guardChanged = () =>
  new AppError(
    'insufficient_user_authentication',
    'The password, the e-mail or a second factor has changed since the request began',
    { reason: 'guard_changed' },
  )
