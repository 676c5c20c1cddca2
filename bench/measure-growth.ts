import { randomUUID } from 'node:crypto'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { insertRows } from '@latchkey/shared/database/insert-rows.ts'
import { getScheme } from '@latchkey/shared/passwords/schemes.ts'
import type { Line } from './bench.ts'
import { HTTP_ROWS, type HttpRow } from './rows.ts'
import { startNamedHost } from './run/hosts.ts'
import { type Load, startLoad } from './run/load.ts'
import { type BenchUser, PASSWORD, type Target } from './run/target.ts'

const ROUTES = [
  'ping, fresh tokens',
  'profile, read',
  'profile, write',
  'login, sha1',
  'refresh',
  'reset request',
]
const ROWS_OF_STATEMENT = 512
/** The users that the requests name in turn, spread over all of them. */
const SAMPLE = 20_000
const COLUMNS = ['userid', 'name', 'email', 'username', 'password', 'role']
/** PostgreSQL adds what a connection has read once that is closed. */
const ROWS_READ = {
  name: 'bench-rows-read',
  text: `select sum(seq_tup_read) as scanned, sum(idx_tup_fetch) as found
    from pg_stat_user_tables where relname in ('users', 'users_property')`,
}

/**
 * Measures each route with each number of users, in PostgreSQL: throughput, and the rows of users that an answer reads
 * without an index (`scanned`) and by an index (`found`), which should not grow.
 */
export async function measureGrowth(
  target: Target,
  { sizes, seconds }: { sizes: readonly number[]; seconds: number },
): Promise<Line[]> {
  if (!target.databaseUrl.startsWith('postgres')) throw new Error('The row growth needs PostgreSQL')
  const db = await openDatabase(target.databaseUrl, { poolSize: 1 })
  const added: BenchUser[] = []
  const lines: Line[] = []
  try {
    for (const users of sizes.toSorted((a, b) => a - b)) {
      await addUsers(db, added, users)
      const step = Math.max(1, Math.floor(users / SAMPLE))
      const sample = added.filter((_, index) => index % step === 0)
      const grown = { ...target, users: { sha1: sample, argon2id: sample } }
      for (const row of HTTP_ROWS.filter(({ name }) => ROUTES.includes(name)))
        lines.push(await measureRoute(db, grown, { row, users, seconds }))
    }
  } finally {
    await db.close()
  }
  return lines
}

async function addUsers(db: Database, added: BenchUser[], count: number): Promise<void> {
  const password = await getScheme('sha1').hash(PASSWORD)
  while (added.length < count) {
    const users = Array.from({ length: Math.min(ROWS_OF_STATEMENT, count - added.length) }, () => {
      const userid = randomUUID()
      return { userid, email: `${userid}@example.com` }
    })
    const rows = users.map(({ userid, email }) => [
      userid,
      'User',
      email,
      userid.slice(0, 20),
      password,
      'user',
    ])
    await insertRows(db, 'users', COLUMNS, rows)
    added.push(...users)
  }
  // What the refreshes of a smaller number of users have left would count as growth.
  await db.runScript('delete from token_revocation')
  await db.runScript('vacuum analyze')
}

async function measureRoute(
  db: Database,
  target: Target,
  { row, users, seconds }: { row: HttpRow; users: number; seconds: number },
): Promise<Line> {
  const before = await readCounts(db)
  const { answers, perSecond, p50Ms } = await sendRequests(row, target, seconds)
  const after = await readCounts(db)
  return {
    host: `${row.name}, ${users.toLocaleString('en')} users`,
    'per s': perSecond,
    'p50 ms': p50Ms,
    'rows scanned': (after.scanned - before.scanned) / answers,
    'rows found': (after.found - before.found) / answers,
  }
}

async function sendRequests(row: HttpRow, target: Target, seconds: number): Promise<Load> {
  const [name = 'latchkey'] = row.hosts
  await using host = await startNamedHost(name, target)
  using sender = startLoad()
  return await sender.run({ ...row.order(target, seconds), url: `${host.url}${row.path}`, seconds })
}

async function readCounts(db: Database): Promise<{ scanned: number; found: number }> {
  const [row] = await db.query<{ scanned: unknown; found: unknown }>(ROWS_READ)
  return { scanned: Number(row?.scanned), found: Number(row?.found) }
}
