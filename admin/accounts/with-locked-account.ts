import type { Database, Transaction } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { getAccount } from './get-account.ts'

/** Runs `work` on a user in a transaction that holds the lock of the user's row; returns the user as before. */
export async function withLockedAccount(
  db: Database,
  login: string,
  work: (users: UserRepository, user: User, transaction: Transaction) => Promise<void>,
): Promise<User> {
  const { userid } = await getAccount(createUserRepository(db), login)
  return db.transaction(async (transaction) => {
    const users = createUserRepository(transaction)
    // The lock comes before any read: MySQL answers a transaction's later reads from the moment of its first one.
    await users.lock(userid)
    const user = await getAccount(users, login)
    if (user.userid !== userid) throw new Error(`${JSON.stringify(login)} now names another user; try again`)
    await work(users, user, transaction)
    return user
  })
}
