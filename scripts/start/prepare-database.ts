import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import { seedDemoUsers } from './add-demo-users.ts'

/** Applies the migrations, creates the queue's tables, and in dev and test adds the demo users. */
export async function prepareDatabase(environment: Environment): Promise<void> {
  const settings = parseSettings(['APP_ENV', 'DATABASE_URL', 'QUEUE_URL', 'PASSWORD_HASH'], environment)
  await withDatabase(settings.DATABASE_URL, async (db) => {
    await createMigrator(db).up()
    await prepareQueue(settings.QUEUE_URL)
    if (hasDemoUsers(settings.APP_ENV)) await seedDemoUsers(db, settings.PASSWORD_HASH)
  })
}
