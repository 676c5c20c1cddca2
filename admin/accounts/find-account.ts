import type { Queryable } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The user with this username, e-mail or userid, deleted ones too; throws when there is none, or when two could be meant. */
export async function getAccount(users: UserRepository, login: string): Promise<User> {
  // Before usernames: one that looks like another user's id must not hide that user.
  const byId = UUID.test(login) ? await users.findById(login.toLowerCase()) : undefined
  if (byId) return byId
  const byUsername = await users.findByLogin('username', login)
  const byEmail = await users.findByLogin('email', login)
  if (byUsername && byEmail && byUsername.userid !== byEmail.userid) {
    throw new Error(
      `${JSON.stringify(login)} is the username of ${byUsername.userid} and the e-mail of ${byEmail.userid}; give the userid`,
    )
  }
  const user = byUsername ?? byEmail
  if (!user) throw new Error(`No user has the username, e-mail or userid ${JSON.stringify(login)}`)
  return user
}

/**
 * Looks the user up and runs `work` in one transaction that holds the row, so that two changes of one user never
 * mix; returns the user as it was before.
 */
export function changeAccount(
  db: { transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result> },
  login: string,
  work: (users: UserRepository, user: User) => Promise<void>,
): Promise<User> {
  return db.transaction(async (transaction) => {
    const users = createUserRepository(transaction)
    const { userid } = await getAccount(users, login)
    await users.lock(userid)
    const user = await users.findById(userid)
    // Nobody deletes rows, but a database is anybody's.
    if (!user) throw new Error(`The user ${JSON.stringify(login)} has just gone`)
    await work(users, user)
    return user
  })
}
