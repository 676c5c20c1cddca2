import type { Database } from '@latchkey/shared/database/database.ts'
import type { Migrator } from '@latchkey/shared/database/migrations.ts'

const PING = { name: 'health-ping', text: 'select 1 as ok' }

/** Passes when the database answers and has every migration of this release. */
export function createDatabaseCheck(db: Pick<Database, 'query'>, migrator: Pick<Migrator, 'status'>) {
  let isMigrated = false
  return async (): Promise<string> => {
    await db.query(PING)
    if (!isMigrated) {
      isMigrated = (await migrator.status()).every(({ appliedAt }) => appliedAt !== undefined)
    }
    return isMigrated ? 'ok' : 'migrations pending'
  }
}
