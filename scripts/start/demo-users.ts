import { AppError } from '@latchkey/shared/app-error.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'

/** Published, so the demo users exist in dev and test only. */
export const DEMO_PASSWORD = '!P4ssw0rdstr!'
export const DEMO_ENVIRONMENTS: readonly string[] = ['dev', 'test']

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

export const hasDemoUsers = (environment = ''): boolean => DEMO_ENVIRONMENTS.includes(environment)

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

/** Does nothing when the e-mail belongs to another user, or another start has added the user meanwhile. */
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
