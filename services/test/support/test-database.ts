import { randomBytes } from 'node:crypto'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { MIGRATED_TEMPLATE, migrate, SERVICE_LOGINS } from '../servers/migrated-template.ts'
import { adminUrl, type Engine, engine, isPostgres, serverUrl } from './engine.ts'

export interface TestDatabase extends AsyncDisposable {
  /** The address at which the owner of the tables connects. */
  url: string
  /** A pool of the owner. */
  db: Database
}

/** Where a service connects to a migrated test database, with its own rights. */
export const serviceUrl = (
  { url }: Pick<TestDatabase, 'url'>,
  service: keyof typeof SERVICE_LOGINS,
): string => Object.assign(new URL(url), SERVICE_LOGINS[service]).href

/** A new empty database, on the project's server unless another is named; dropped at the end. */
export const createEmptyDatabase = (on: Engine = engine()): Promise<TestDatabase> => createDatabase(on)

/** `createEmptyDatabase` with every migration applied; PostgreSQL copies one that has them. */
export async function createTestDatabase(on: Engine = engine()): Promise<TestDatabase> {
  if (isPostgres(on)) return createDatabase(on, MIGRATED_TEMPLATE)
  const database = await createDatabase(on)
  await migrate(database)
  return database
}

async function createDatabase(on: Engine, template?: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await runAsAdmin(on, `create database ${name}${template ? ` template ${template}` : ''}`)
  if (on === 'serializable')
    await runAsAdmin(on, `alter database ${name} set default_transaction_isolation = 'serializable'`)
  const url = new URL(await serverUrl(on))
  url.pathname = `/${name}`
  const db = await openDatabase(url.href, { poolSize: 12 })
  return {
    url: url.href,
    db,
    async [Symbol.asyncDispose]() {
      await db.close()
      const force = isPostgres(on) ? ' with (force)' : ''
      await runAsAdmin(on, `drop database ${name}${force}`)
    },
  }
}

/** How many rows a table has, or those `where` says. */
export async function countRows(db: Queryable, from: string): Promise<number> {
  const text = `select count(*) as found from ${from}`
  const [row] = await db.query<{ found: number | string }>({ name: `test-count ${from}`, text })
  return Number(row?.found)
}

/** A connection of this worker to each engine: to open one costs as much as to create a database. */
const admins = new Map<Engine, Promise<Database>>()

async function runAsAdmin(on: Engine, text: string): Promise<void> {
  const admin = admins.get(on) ?? openAdmin(on)
  admins.set(on, admin)
  await (await admin).execute({ name: text.slice(0, 63), text })
}

// Its time limit is that of a test: the server may write a whole checkpoint first.
const openAdmin = async (on: Engine): Promise<Database> =>
  openDatabase(await adminUrl(on), { poolSize: 1, statementTimeoutMs: 300_000 })
