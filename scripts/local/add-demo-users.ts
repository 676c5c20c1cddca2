import type { Database } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { DEMO_PASSWORD, DEMO_USERS } from '@latchkey/shared/users/demo-users.ts'
import { createManyUsersRepository } from '@latchkey/shared/users/many-users-repository.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'

/**
 * Adds the demo users to a database without users; returns whether it did. A database that has users may be shared with real
 * ones, and stays as it is.
 */
export async function addDemoUsers(db: Database, passwords: Pick<PasswordHasher, 'hash'>): Promise<boolean> {
  if (await createManyUsersRepository(db).hasAny()) return false
  const passwordHash = await passwords.hash(DEMO_PASSWORD)
  try {
    await db.transaction(async (transaction) => {
      const users = createUserRepository(transaction)
      for (const { properties, ...user } of DEMO_USERS) {
        const userid = await users.insert({ ...user, passwordHash })
        for (const [name, value] of Object.entries(properties)) await users.setProperty(userid, name, value)
      }
    })
    return true
  } catch (error) {
    // Another start adds them at the same time.
    if (!(error instanceof AppError && error.code.endsWith('_taken'))) throw error
    return false
  }
}
