import { randomBytes } from 'node:crypto'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { adminUrl, type Engine, engine, isCluster, isPostgres, nodeUrls, serverUrl } from './engine.ts'
import { dropEverything, openGiven, prepareGiven } from './given-database.ts'
import { MIGRATED_TEMPLATE, migrate, SERVICE_LOGINS } from './servers/migrated-template.ts'
import { waitFor } from './wait-for.ts'

export interface TestDatabase extends AsyncDisposable {
  /** The address at which the owner of the tables connects. */
  url: string
  /** A pool of the owner. */
  db: Database
}

/** The nodes of each cluster that was used, by the address of one of them: services connect to each in turn. */
const nodesOf = new Map<string, string[]>()

/** Returns the URL of a migrated test database for a service, with its own rights; another node of a cluster each time. */
export function serviceUrl({ url }: Pick<TestDatabase, 'url'>, service: keyof typeof SERVICE_LOGINS): string {
  // Its user may have no right to create logins.
  if (engine() === 'given') return url
  const found = Object.assign(new URL(url), SERVICE_LOGINS[service])
  const hosts = nodesOf.get(found.host)
  if (hosts) {
    hosts.push(hosts.shift() ?? '')
    found.host = hosts[0] ?? ''
  }
  return found.href
}

/** A new empty database, on the project's server unless another is named; dropped at the end. */
export const createEmptyDatabase = (on: Engine = engine()): Promise<TestDatabase> => createDatabase(on)

/** `createEmptyDatabase` with every migration applied; PostgreSQL copies one that has them. */
export async function createTestDatabase(on: Engine = engine()): Promise<TestDatabase> {
  if (on === 'given') return openGiven(await adminUrl(on), prepareGiven)
  if (isPostgres(on)) return createDatabase(on, MIGRATED_TEMPLATE)
  const database = await createDatabase(on)
  await migrate(database)
  return database
}

async function createDatabase(on: Engine, template?: string): Promise<TestDatabase> {
  if (on === 'given') return openGiven(await adminUrl(on), dropEverything)
  const name = `test_${randomBytes(6).toString('hex')}`
  await runAsAdmin(on, `create database ${name}${template ? ` template ${template}` : ''}`)
  const url = new URL(await serverUrl(on))
  url.pathname = `/${name}`
  if (isCluster(on)) await everyNodeHas(name, await nodeUrls(on))
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

async function everyNodeHas(database: string, urls: readonly string[]): Promise<void> {
  const hosts = urls.map((url) => new URL(url).host)
  for (const host of hosts) if (!nodesOf.has(host)) nodesOf.set(host, hosts)
  for (const url of urls) {
    const node = await openDatabase(url, { poolSize: 1 })
    const text = `select 1 from information_schema.schemata where schema_name = '${database}'`
    await waitFor(async () => (await node.query({ name: 'test-node', text })).length === 1)
    await node.close()
  }
}

/** Counts the rows of a table; `from` may go on with a `where`. */
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
