import type { Database } from '@latchkey/shared/database/database.ts'
import type { Migrator } from '@latchkey/shared/database/migrations.ts'

const PING = { name: 'health-ping', text: 'select 1 as ok' }

export interface DatabaseCheckOptions {
  migrator: Pick<Migrator, 'status'>
  /** Rejects when the service must not run on the tables, whether or not they are migrated. */
  acceptSchema: () => Promise<void>
  /** Rejects when the service must not run with the users. */
  acceptUsers: () => Promise<void>
}

/** Passes when the database answers, has every migration of this release and, asked once, is accepted. */
export function createDatabaseCheck(
  db: Pick<Database, 'query'>,
  { migrator, acceptSchema, acceptUsers }: DatabaseCheckOptions,
) {
  let isAccepted = false
  return async (): Promise<string> => {
    await db.query(PING)
    if (isAccepted) return 'ok'
    await acceptSchema()
    const isMigrated = (await migrator.status()).every(({ appliedAt }) => appliedAt !== undefined)
    if (!isMigrated) return 'migrations pending'
    await acceptUsers()
    isAccepted = true
    return 'ok'
  }
}
