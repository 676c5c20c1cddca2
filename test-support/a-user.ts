import { hash, randomBytes } from 'node:crypto'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'

export const PASSWORD = 'c0rrect-Horse!'

export interface TestUser {
  userid: string
  email: string
  username: string
  role: string
}

let counter = 0

/** Stores a user with the password `PASSWORD`, by default under a SHA-1 hash, which costs no time. */
export async function aUser(
  { users }: { users: Pick<UserRepository, 'insert'> },
  given: { email?: string; name?: string; username?: string; role?: string; passwordHash?: string } = {},
): Promise<TestUser> {
  const username = given.username ?? `u${++counter}-${randomBytes(4).toString('hex')}`
  const user = { username, email: `${username}@example.com`, name: 'Ada', role: 'user', ...given }
  const userid = await users.insert({ passwordHash: hash('sha1', PASSWORD), ...user })
  return { userid, ...user }
}
