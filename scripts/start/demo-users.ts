import { AppError } from '@latchkey/shared/app-error.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'

/** Good for a laptop and a test, known to everybody: no other environment has these users. */
export const DEMO_PASSWORD = '!P4ssw0rdstr!'

export const DEMO_USERS = [
  { name: 'Admin', email: 'admin@example.com', username: 'admin', role: 'admin', properties: {} },
  {
    name: 'User',
    email: 'user@example.com',
    username: 'user',
    role: 'user',
    properties: { picture: 'https://www.gravatar.com/avatar/b58996c504c5638798eb6b511e6f49af' },
  },
] as const

/** Adds the demo users that are not there yet; one who is there, and what became of it, stays as it is. */
export async function seedDemoUsers(db: Database, passwords: Pick<PasswordHasher, 'hash'>): Promise<void> {
  for (const { properties, ...user } of DEMO_USERS) {
    if (await createUserRepository(db).findByLogin('username', user.username)) continue
    const passwordHash = await passwords.hash(DEMO_PASSWORD)
    await db
      .transaction(async (transaction) => {
        const users = createUserRepository(transaction)
        const userid = await users.insert({ ...user, passwordHash })
        for (const [name, value] of Object.entries(properties)) await users.setProperty(userid, name, value)
      })
      // Somebody may have a user with the demo's e-mail, or a second start may have been faster.
      .catch((error: unknown) => {
        const isTaken = error instanceof AppError && ['email_taken', 'username_taken'].includes(error.code)
        if (!isTaken) throw error
      })
  }
}
