import type { Database, DatabaseOptions, Dialect } from './database.ts'
import { mysql } from './mysql/dialect.ts'
import { postgres } from './postgres/dialect.ts'

/** The databases that Latchkey runs on. A new one is a line here; docs/how-to/add-a-database.md says what else. */
export const DIALECTS: readonly Dialect[] = [postgres, mysql]

/** The protocols of all database URLs, without the colon. */
export const DATABASE_PROTOCOLS: readonly string[] = DIALECTS.flatMap(({ protocols }) => protocols)

/** The dialect for the protocol of `url`; throws for an unknown one. */
export function findDialect(url: string, dialects: readonly Dialect[] = DIALECTS): Dialect {
  const { protocol } = new URL(url)
  const found = dialects.find(({ protocols }) => protocols.includes(protocol.slice(0, -1)))
  if (found) return found
  const known = dialects.flatMap(({ protocols }) => protocols).map((name) => `${name}:`)
  throw new Error(`No database has URLs that start with ${protocol}, only ${known.join(', ')}`)
}

/** Loads the driver for `url` and opens a pool; connects at the first statement. */
export const openDatabase = (url: string, options: DatabaseOptions = {}): Promise<Database> =>
  findDialect(url).open(url, options)
