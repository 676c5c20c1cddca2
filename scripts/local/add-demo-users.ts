import { AppError } from '@latchkey/shared/app-error.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { DEMO_PASSWORD, DEMO_USERS } from '@latchkey/shared/users/demo-users.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'

/** Adds the missing demo users with a hash of `scheme`; existing ones stay as they are. */
export async function seedDemoUsers(db: Database, scheme: string): Promise<void> {
  const passwords = createPasswordHasher({ scheme, concurrency: 1, queueLimit: 10 })
  try {
    for (const user of DEMO_USERS) {
      if (await createUserRepository(db).findByLogin('username', user.username)) continue
      await addUser(db, user, await passwords.hash(DEMO_PASSWORD))
    }
  } finally {
    await passwords.close()
  }
}

/** Does nothing when the e-mail belongs to another user, or another start has added the user by then. */
async function addUser(
  db: Database,
  { properties, ...user }: (typeof DEMO_USERS)[number],
  passwordHash: string,
): Promise<void> {
  try {
    await db.transaction(async (transaction) => {
      const users = createUserRepository(transaction)
      const userid = await users.insert({ ...user, passwordHash })
      for (const [name, value] of Object.entries(properties)) await users.setProperty(userid, name, value)
    })
  } catch (error) {
    const isTaken = error instanceof AppError && ['email_taken', 'username_taken'].includes(error.code)
    if (!isTaken) throw error
  }
}
