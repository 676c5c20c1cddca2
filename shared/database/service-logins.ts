import { rootReason } from '../errors/root-reason.ts'
import type { Database, Grant, Login, Right, Statement } from './database.ts'
import { openDatabase } from './dialects.ts'
import { type Migration, readAllMigrations } from './migration-files.ts'
import { MIGRATION_LOCK } from './migrations.ts'
import { ALL_RIGHTS } from './rights-sql.ts'

/** The rights that a service needs. */
interface ServiceRights {
  tables: Readonly<Record<string, readonly Right[]>>
  /** On the views of rows whose time is over. */
  expired: readonly Right[]
  /** On the tables of extensions. */
  others: readonly Right[]
}

const SERVICES = {
  /** Its statements, and those of the admin commands, use every right that is named here. */
  AUTH_API_DATABASE_URL: {
    tables: {
      latchkey_migrations: ['select'],
      latchkey_installation: ['select'],
      users: ['select', 'insert', 'update'],
      users_property: ALL_RIGHTS,
      user_metadata: ALL_RIGHTS,
      user_erasure: ALL_RIGHTS,
      password_reset: ALL_RIGHTS,
      email_change: ALL_RIGHTS,
      mailed_code: ALL_RIGHTS,
      sign_up: ALL_RIGHTS,
      mail_outbox: ALL_RIGHTS,
      token_revocation: ['select', 'insert', 'update'],
      user_session: ALL_RIGHTS,
      audit_event: ['select', 'insert'],
      user_factor: ALL_RIGHTS,
      recovery_code: ['select', 'insert', 'delete'],
      user_identity: ALL_RIGHTS,
      identity_login: ALL_RIGHTS,
    },
    expired: [],
    others: ALL_RIGHTS,
  },
  MAILER_WORKER_DATABASE_URL: {
    tables: {
      latchkey_migrations: ['select'],
      latchkey_installation: ['select'],
      mail_outbox: ['select', 'update', 'delete'],
      // It takes the person out of the events of erased users.
      expired_audit_person: ['select', 'update'],
    },
    expired: ['select', 'delete'],
    others: [],
  },
} satisfies Record<string, ServiceRights>

type UrlSetting = keyof typeof SERVICES

/** The addresses at which the services connect, by the setting that has them. */
export type ServiceUrls = Partial<Record<UrlSetting, string | undefined>>

const rightsOn = (table: string, { tables, expired, others }: ServiceRights): readonly Right[] =>
  tables[table] ?? (table.startsWith('expired_') ? expired : others)

/**
 * Leaves the login of each service with the rights of its job, and creates a login that does not exist. Fails where a service
 * could not connect afterwards.
 */
export async function prepareServiceLogins(
  db: Database,
  ownerUrl: string,
  urls: ServiceUrls,
  migrations = readAllMigrations(db.dialect.name),
): Promise<void> {
  const relations = ['latchkey_migrations', ...(await findRelations(db, migrations))]
  const given = Object.entries(urls).flatMap(([setting, url]) =>
    url === undefined ? [] : [{ setting: setting as UrlSetting, url, login: readLogin(setting, url) }],
  )
  // PostgreSQL refuses two grants on one table at the same time.
  await db.withLock(MIGRATION_LOCK, async () => {
    await renewViews(db, migrations)
    for (const { setting, url, login } of given) {
      // Services may have one login together.
      const services = given.filter((each) => each.login.user === login.user)
      const grants = relations.map((table) => ({
        table,
        rights: ALL_RIGHTS.filter((right) =>
          services.some((each) => rightsOn(table, SERVICES[each.setting]).includes(right)),
        ),
      }))
      await prepareLogin(db, { setting, ownerUrl, url, login, grants })
    }
  })
}

/** MySQL runs a view with the rights of the login that created it, which may be gone since: the present owner takes its place. */
async function renewViews({ dialect, runScript }: Database, migrations: readonly Migration[]): Promise<void> {
  if (dialect.name !== 'mysql') return
  // Such a script changes nothing that exists but its views.
  for (const { upSql } of migrations) if (upSql.includes('sql security definer view')) await runScript(upSql)
}

async function prepareLogin(
  db: Database,
  given: { setting: string; ownerUrl: string; url: string; login: Login; grants: Grant[] },
): Promise<void> {
  const { setting, ownerUrl, url, login, grants } = given
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
      `The login of ${setting} fails: ${rootReason(cause)}. A login that exists keeps its password; for a new password, choose a new name, as deploy/rotate-secret.sh database-password does for docker compose`,
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

/** The tables, and the views of expired rows, that migrations have created, and none has dropped. */
async function findRelations(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  const rows = await db.query<{ name: string }>(LIST_TABLES)
  const existing = new Set(rows.map(({ name }) => name.toLowerCase()))
  return migrations
    .flatMap(({ upSql }) => [...upSql.matchAll(CREATES)])
    .map(([, name = '']) => name)
    .filter((name) => existing.has(name.toLowerCase()))
}

/** The name follows, in quotes or without. */
const CREATES =
  /^\s*create (?:table (?:if not exists )?|(?:or replace )?(?:sql security definer )?view (?=["`]?expired_))["`]?(\w+)["`]?/gim
