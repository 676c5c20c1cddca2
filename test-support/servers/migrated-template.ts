import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { prepareServiceLogins } from '@latchkey/shared/database/service-logins.ts'

/** The database on a shared PostgreSQL server that has every migration applied, to be copied. */
export const MIGRATED_TEMPLATE = 'latchkey_migrated'

/** The login of the services, in every database that the tests migrate. */
export const SERVICE_LOGINS = {
  'auth-api': { username: 'test_auth_api', password: 'secret' },
  'mailer-worker': { username: 'test_mailer_worker', password: 'secret' },
} as const

/** Applies every migration, and gives each service its rights. */
export async function migrate({ db, url }: { db: Database; url: string }): Promise<void> {
  await createMigrator(db).up()
  const of = (service: keyof typeof SERVICE_LOGINS) =>
    Object.assign(new URL(url), SERVICE_LOGINS[service]).href
  await prepareServiceLogins(db, url, {
    AUTH_API_DATABASE_URL: of('auth-api'),
    MAILER_WORKER_DATABASE_URL: of('mailer-worker'),
  })
}
