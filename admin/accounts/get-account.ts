import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'

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
  if (!user)
    throw new Error(
      `No user has the username, e-mail or userid ${JSON.stringify(login)}; Users::list lists the users`,
    )
  return user
}
