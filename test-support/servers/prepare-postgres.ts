import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { MIGRATED_TEMPLATE, migrate } from './migrated-template.ts'

/** Creates what the suites share on a PostgreSQL server: the mail queue and the database that theirs are copies of. */
export async function preparePostgres(adminUrl: string): Promise<void> {
  await prepareQueue(adminUrl)
  await runOn(adminUrl, (db) => db.runScript(`create database ${MIGRATED_TEMPLATE}`))
  const template = new URL(adminUrl)
  template.pathname = `/${MIGRATED_TEMPLATE}`
  await runOn(template.href, (db) => migrate({ db, url: template.href }))
}

async function runOn(url: string, work: (db: Database) => Promise<unknown>) {
  const db = await openDatabase(url, { poolSize: 1 })
  try {
    await work(db)
  } finally {
    await db.close()
  }
}
