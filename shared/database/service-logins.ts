import { rootReason } from '../root-reason.ts'
import type { Database, Grant, Login, Statement } from './database.ts'
import { openDatabase } from './dialects.ts'
import { type Migration, readAllMigrations } from './migration-files.ts'
import { MIGRATION_LOCK } from './migrations.ts'

const EVERYTHING = 'select, insert, update, delete'

/** What mailer-worker finds, updates and deletes: mail to be sent, and rows that have expired. */
const GRANTS_OF_WORKER: readonly Grant[] = [
  { table: 'mail_outbox', rights: 'select, update, delete' },
  { table: 'password_reset', rights: 'select (id, expires_at), delete' },
  { table: 'email_change', rights: 'select (id, expires_at), delete' },
  { table: 'token_revocation', rights: 'select (id, expires_at), delete' },
  { table: 'sign_up', rights: 'select (id, expires_at), delete' },
  { table: 'audit_event', rights: 'select (id, created_at), delete' },
  { table: 'user_session', rights: 'select (id, expires_at), delete' },
]

/** Both services see which migrations are applied. */
const GRANT_OF_RECORD: Grant = { table: 'latchkey_migrations', rights: 'select' }

/** The addresses at which the services connect, by the setting that has them. */
export interface ServiceUrls {
  AUTH_API_DATABASE_URL?: string | undefined
  MAILER_WORKER_DATABASE_URL?: string | undefined
}

/**
 * Grants the login of each service the rights of its job, and creates a login that does not exist. Fails where a service
 * could not connect afterwards.
 */
export async function prepareServiceLogins(
  db: Database,
  ownerUrl: string,
  urls: ServiceUrls,
  migrations = readAllMigrations(db.dialect.name),
): Promise<void> {
  const tables = await findTables(db, migrations)
  const grants = {
    AUTH_API_DATABASE_URL: tables.map((table) => ({ table, rights: EVERYTHING })),
    MAILER_WORKER_DATABASE_URL: GRANTS_OF_WORKER,
  }
  // PostgreSQL refuses two grants on one table at the same time.
  await db.withLock(MIGRATION_LOCK, async () => {
    for (const setting of ['AUTH_API_DATABASE_URL', 'MAILER_WORKER_DATABASE_URL'] as const) {
      const url = urls[setting]
      if (url === undefined) continue
      await prepareLogin(db, { setting, ownerUrl, url, grants: [GRANT_OF_RECORD, ...grants[setting]] })
    }
  })
}

async function prepareLogin(
  db: Database,
  { setting, ownerUrl, url, grants }: { setting: string; ownerUrl: string; url: string; grants: Grant[] },
): Promise<void> {
  const login = readLogin(setting, url)
  // The owner has every right already.
  if (login.user === readLogin('DATABASE_URL', ownerUrl).user) return
  if (login.password === '')
    throw new Error(`${setting} has no password: anybody could log in as ${login.user}. Add one to the URL`)
  const { logins } = db.dialect
  if (!logins) throw new Error(`${setting} is set, and this kind of database has no logins`)
  // MySQL refuses this to an owner who may not create logins, even where the login exists.
  const refusal: unknown = await db.runScript(logins.create(login)).catch((error: unknown) => error)
  try {
    await db.runScript(logins.grant(login, grants))
  } catch (error) {
    const reasons = [refusal, error].filter((each) => each !== undefined).map(rootReason)
    // The error is not passed on as the cause: errors of mysql2 contain the statement, with the password.
    throw new Error(
      `The login ${login.user} of ${setting} cannot be prepared: ${[...new Set(reasons)].join('; ')}. Let the user of DATABASE_URL create logins and grant rights, or create this login by hand`,
    )
  }
  await tryLogin(setting, url)
}

async function tryLogin(setting: string, url: string): Promise<void> {
  const service = await openDatabase(url, { poolSize: 1 })
  try {
    await service.query({ name: 'logins-try', text: 'select count(*) from latchkey_migrations' })
  } catch (cause) {
    throw new Error(
      `The login of ${setting} fails: ${rootReason(cause)}. A login that exists keeps its password; for a new password, choose a new name`,
      { cause },
    )
  } finally {
    await service.close()
  }
}

/** Names that need no quotes in SQL, and have room in every database. */
const USER = /^[a-z_][a-z0-9_]{0,31}$/

function readLogin(setting: string, url: string): Login {
  const { username, password } = new URL(url)
  const user = decodeURIComponent(username)
  if (setting !== 'DATABASE_URL' && !USER.test(user))
    throw new Error(`${setting} must name a user of at most 32 lower-case letters, digits and underscores`)
  return { user, password: decodeURIComponent(password) }
}

const LIST_TABLES: Statement = {
  name: 'logins-tables',
  text: {
    postgres: `select table_name as name from information_schema.tables
      where table_schema = current_schema()`,
    mysql: `select table_name as name from information_schema.tables
      where table_schema = database()`,
  },
}

/** The tables that migrations have created, and none has dropped. */
async function findTables(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  const rows = await db.query<{ name: string }>(LIST_TABLES)
  const existing = new Set(rows.map(({ name }) => name.toLowerCase()))
  return migrations
    .flatMap(({ upSql }) => [...upSql.matchAll(/^\s*create table (?:if not exists )?["`]?(\w+)["`]?/gim)])
    .map(([, table = '']) => table)
    .filter((table) => existing.has(table.toLowerCase()))
}
