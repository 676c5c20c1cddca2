import { requireNoDifferences } from '@latchkey/shared/database/adoption/inspect-database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { findQueueFaults, prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import { findPublishedPasswords } from '@latchkey/shared/users/published-password.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { addDemoUsers } from './add-demo-users.ts'

/**
 * Applies the migrations, creates the queue's tables, and adds the demo users to a database of dev or test without users.
 * Returns the accounts that have the published password of the demo users.
 */
export async function prepareDatabase(environment: Environment): Promise<User[]> {
  const settings = parseSettings(['APP_ENV', 'DATABASE_URL', 'QUEUE_URL', 'PASSWORD_HASH'], environment)
  const passwords = createPasswordHasher({ scheme: settings.PASSWORD_HASH, concurrency: 1, queueLimit: 10 })
  try {
    return await withDatabase(settings.DATABASE_URL, async (db) => {
      const migrator = createMigrator(db)
      requireNoDifferences(
        [...(await migrator.inspect()), ...(await findQueueFaults(settings.QUEUE_URL))],
        false,
      )
      await migrator.up()
      await prepareQueue(settings.QUEUE_URL)
      if (hasDemoUsers(settings.APP_ENV)) await addDemoUsers(db, passwords)
      return findPublishedPasswords({ users: createUserRepository(db), passwords })
    })
  } finally {
    await passwords.close()
  }
}
