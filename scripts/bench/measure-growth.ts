import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { getScheme } from '@latchkey/shared/passwords/schemes.ts'
import type { Line } from './line.ts'
import { type HttpRow, ROWS_WITHOUT_ARGON2 } from './rows.ts'
import { startNamedHost } from './run/hosts.ts'
import { type Load, sendLoad } from './run/load.ts'
import { type BenchUser, PASSWORD, type Target } from './run/target.ts'

/** Users whom the requests name in turn. */
const SAMPLE = 20_000
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
  const lines: Line[] = []
  try {
    for (const users of sizes.toSorted((a, b) => a - b)) {
      const sample = await growTo(db, users)
      const grown = { ...target, users: { sha1: sample, argon2id: sample } }
      for (const row of ROWS_WITHOUT_ARGON2)
        lines.push(await measureRoute(db, grown, { row, users, seconds }))
    }
  } finally {
    await db.close()
  }
  return lines
}

/** Adds users until there are `count` of them; resolves with some, spread over all. */
async function growTo(db: Database, count: number): Promise<BenchUser[]> {
  const password = await getScheme('sha1').hash(PASSWORD)
  // The rows left by the refreshes of a smaller number of users would count as growth.
  await db.runScript(`
    insert into users (userid, name, email, username, password, role)
      select id, 'User', id || '@example.com', left(id::text, 20), '${password}', 'user'
      from (select gen_random_uuid() as id
        from generate_series(1, ${count} - (select count(*) from users))) as ids;
    delete from token_revocation`)
  await db.runScript('vacuum analyze')
  return db.query<BenchUser>({
    name: 'bench-sample',
    text: `select userid, email from users where password = '${password}' order by random() limit ${SAMPLE}`,
  })
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
  return await sendLoad({ ...row.order(target, seconds), url: `${host.url}${row.path}`, seconds })
}

async function readCounts(db: Database): Promise<{ scanned: number; found: number }> {
  const [row] = await db.query<{ scanned: unknown; found: unknown }>(ROWS_READ)
  return { scanned: Number(row?.scanned), found: Number(row?.found) }
}
