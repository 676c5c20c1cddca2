import { type AuditEventName, BY_ADMIN } from '@latchkey/shared/audit/audit-events.ts'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import type { Database, Transaction } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Finds a user, deleted ones included, by username, e-mail or userid; throws when no user or two users match. */
export async function getAccount(users: UserRepository, login: string): Promise<User> {
  // By userid first: a username that looks like another user's id must not hide that user.
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

/** Runs `work` on a user in a transaction that holds the lock of the user's row; returns the user as before. */
export async function changeAccount(
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

/** Records in the audit trail what an admin does to a user, in the transaction that does it. */
export const recordEvent = (
  transaction: Transaction,
  name: AuditEventName,
  userid: string,
  now: number,
  reason: string = BY_ADMIN,
): Promise<void> => createAuditRepository(transaction).insert([{ name, userid, reason, at: new Date(now) }])
