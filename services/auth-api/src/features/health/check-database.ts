import type { Database } from '@latchkey/shared/database/database.ts'
import type { Migrator } from '@latchkey/shared/database/migrations.ts'

const PING = { name: 'health-ping', text: 'select 1 as ok' }

/**
 * Passes when the database answers, has every migration of this release and, asked once, is accepted. `accept` rejects
 * when it does not accept the users.
 */
export function createDatabaseCheck(
  db: Pick<Database, 'query'>,
  migrator: Pick<Migrator, 'status'>,
  accept: () => Promise<void>,
) {
  let isAccepted = false
  return async (): Promise<string> => {
    await db.query(PING)
    if (isAccepted) return 'ok'
    const isMigrated = (await migrator.status()).every(({ appliedAt }) => appliedAt !== undefined)
    if (!isMigrated) return 'migrations pending'
    await accept()
    isAccepted = true
    return 'ok'
  }
}
