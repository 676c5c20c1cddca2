import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { type DatabaseWork, readWork } from '../run/database-work.ts'
import { growUsers, sampleUsers } from '../run/grow-users.ts'
import { startNamedHost } from '../run/hosts.ts'
import { type Load, startLoad } from '../run/load.ts'
import type { Target } from '../run/target.ts'
import { HTTP_ROWS, type HttpRow } from './http-rows.ts'

const ROUTES = [
  'ping, fresh tokens',
  'profile, read',
  'profile, write',
  'login, sha1',
  'refresh',
  'reset request',
]

const WARM_SECONDS = 1

export interface GrowthResult extends Pick<Load, 'perSecond' | 'p50Ms'> {
  row: string
  users: number
  /** Of the database for each answer. */
  scanned: number
  found: number
  databaseCpuMicros: number
  /** Processor time of the database divided by that with the fewest users. */
  growth: number
}

export interface GrowthOptions {
  /** Numbers of users. */
  sizes: readonly number[]
  seconds: number
  /** The process of the database server. Default: an embedded PostgreSQL's. */
  serverPid?: number | undefined
}

/** Measures what an answer costs the database at each number of users, which are added in between. */
export async function measureGrowth(
  target: Target,
  { sizes, ...options }: GrowthOptions,
): Promise<GrowthResult[]> {
  const db = await openDatabase(target.databaseUrl, { poolSize: 1 })
  const results: GrowthResult[] = []
  try {
    for (const users of sizes.toSorted((a, b) => a - b)) {
      await growUsers(target.databaseUrl, users)
      const sample = sampleUsers(users)
      const grown = { ...target, users: { sha1: sample, argon2id: sample } }
      for (const row of HTTP_ROWS.filter(({ name }) => ROUTES.includes(name)))
        results.push({ users, ...(await measureRoute(db, row, grown, options)), growth: Number.NaN })
    }
  } finally {
    await db.close()
  }
  return results.map((each) => ({ ...each, growth: growthOf(each, results) }))
}

async function measureRoute(
  db: Database,
  row: HttpRow,
  target: Target,
  { seconds, serverPid }: Omit<GrowthOptions, 'sizes'>,
) {
  // Until the pages that the route reads are in memory.
  await sendRequests(row, target, WARM_SECONDS)
  const before = await readWork(db, serverPid)
  const { answers, perSecond, p50Ms } = await sendRequests(row, target, seconds)
  if (answers === 0)
    throw new Error(`Nothing was answered within ${seconds} s: ${row.name}; raise --duration`)
  const after = await readWork(db, serverPid)
  const perAnswer = (field: keyof DatabaseWork) => (after[field] - before[field]) / answers
  return {
    row: row.name,
    perSecond,
    p50Ms,
    scanned: perAnswer('scanned'),
    found: perAnswer('found'),
    databaseCpuMicros: perAnswer('cpuMicros'),
  }
}

async function sendRequests(row: HttpRow, target: Target, seconds: number): Promise<Load> {
  const [name = 'latchkey'] = row.hosts
  await using host = await startNamedHost(name, target)
  using sender = startLoad()
  return await sender.run({ ...row.order(target, seconds), url: `${host.url}${row.path}`, seconds })
}

const growthOf = ({ row, databaseCpuMicros }: GrowthResult, results: readonly GrowthResult[]): number =>
  databaseCpuMicros / (results.find((each) => each.row === row)?.databaseCpuMicros ?? Number.NaN)
