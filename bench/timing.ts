/*
 * Measures whether response times reveal that an e-mail is known: for each route, and each state of a reset, in which an
 * e-mail may be known or not, sends requests about unknown, known and deleted ones in turn, idle and under load. Prints
 * for each comparison the p of a rank test (Mann and Whitney) and the smallest shift that it would have detected; then
 * the same as JSON. Exits with 1 if any p is below 0.01 divided by the number of comparisons.
 *
 *   npm run bench:timing [-- --pairs 1500 --rows 'login|resetrequest' --load idle]
 */
import { randomBytes } from 'node:crypto'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { startService } from '../scripts/start/service-process.ts'
import { compareRanks, detectableShift } from './timing/rank-test.ts'
import { createRows, type Emails, type Row } from './timing/rows.ts'
import { type Times, timeRequests } from './timing/time-requests.ts'
import { withPostgres } from './with-postgres.ts'

const MAIN = join(import.meta.dirname, '../services/auth-api/src/main.ts')
/** The probability that a run without any separation fails. */
const LEVEL = 0.01
const LOADS = ['idle', 'loaded'] as const
type Load = (typeof LOADS)[number]

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '1500' },
    rows: { type: 'string', default: '.' },
    load: { type: 'string', default: LOADS.join('|') },
  },
})
const pairs = Number(values.pairs)
const loads = LOADS.filter((load) => new RegExp(values.load).test(load))

interface Comparison {
  load: Load
  row: string
  /** Compared with an unknown e-mail. */
  kind: string
  unknownP50Us: number
  kindP50Us: number
  /** The share of pairs in which the kind takes longer. */
  takesLonger: number
  p: number
  /** The smallest shift that this run detects with a probability of 80 % and of 95 %. */
  detects80Us: number
  detects95Us: number
}

await withPostgres(async (databaseUrl) => {
  const db = await openDatabase(databaseUrl)
  try {
    await run(databaseUrl, db)
  } finally {
    await db.close()
  }
})

async function run(databaseUrl: string, db: Database): Promise<void> {
  const jwtSecret = randomBytes(64)
  const rows = createRows(db, jwtSecret).filter(({ name }) => new RegExp(values.rows).test(name))
  const comparisons = rows.flatMap(({ kinds }) => kinds.slice(1)).length * loads.length
  if (comparisons === 0) throw new Error('No row has such a name or load')
  const level = LEVEL / comparisons
  await createMigrator(db).up()
  await prepareQueue(databaseUrl)
  const emails = await storeUsers(db)
  const service = startService('auth-api', MAIN, settings(databaseUrl, jwtSecret))
  try {
    const { address = '' } = await service.ready
    for (const row of rows) await measureRow(address, row, firstOf(emails, 50)) // Warms the code.
    const results: Comparison[] = []
    for (const load of loads)
      for (const row of rows) {
        const times = await underLoad(load, address, () => measureRow(address, row, emails))
        results.push(...compare(load, row, times, level))
        process.stderr.write(`${load}: ${row.name}\n`)
      }
    report(results, level)
  } finally {
    await service.stop()
  }
}

function settings(databaseUrl: string, jwtSecret: Buffer): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    APP_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'error',
    API_SERVER: 'http://bench',
    JWT_SECRET: jwtSecret.toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    DATABASE_URL: databaseUrl,
    QUEUE_URL: databaseUrl,
    PASSWORD_HASH: 'argon2id',
    EMAIL_CHANGE: 'confirmed',
    SIGN_UP: 'on',
    // Counted as in production, but never reached.
    RATE_LIMIT_REQUESTS: '1000000000',
    RATE_LIMIT_LOGIN: '1000000000',
    RATE_LIMIT_RESET: '1000000000',
  }
}

async function storeUsers(db: Database): Promise<Emails> {
  const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 1 })
  const passwordHash = await passwords.hash('the password')
  await passwords.close()
  const emailsOf = () => Array.from({ length: pairs }, () => `${randomBytes(8).toString('hex')}@example.com`)
  const emails = { unknown: emailsOf(), known: emailsOf(), deleted: emailsOf() }
  await db.transaction(async (transaction) => {
    const users = createUserRepository(transaction)
    for (const [kind, list] of Object.entries({ known: emails.known, deleted: emails.deleted }))
      for (const email of list) {
        const username = email.slice(0, 16)
        const userid = await users.insert({ name: 'Ada', email, username, passwordHash, role: 'user' })
        if (kind === 'deleted') await users.softDelete(userid)
      }
  })
  await db.runScript('vacuum analyze')
  return emails
}

function firstOf({ unknown, known, deleted }: Emails, count: number): Emails {
  return {
    unknown: unknown.slice(0, count),
    known: known.slice(0, count),
    deleted: deleted.slice(0, count),
  }
}

async function measureRow(address: string, row: Row, emails: Emails): Promise<Times> {
  await row.prepare(emails)
  return timeRequests(address, row, emails)
}

/** Other clients send requests meanwhile. */
async function underLoad<Result>(load: Load, address: string, work: () => Promise<Result>): Promise<Result> {
  if (load === 'idle') return work()
  const clients = new Worker(new URL('./timing/load.ts', import.meta.url), { workerData: { address } })
  try {
    return await work()
  } finally {
    await clients.terminate()
  }
}

function compare(load: Load, row: Row, times: Times, level: number): Comparison[] {
  const unknown = times.get('unknown') ?? []
  return row.kinds.slice(1).map((kind) => {
    const others = times.get(kind) ?? []
    const { shareAbove, p } = compareRanks(others, unknown)
    return {
      load,
      row: row.name,
      kind,
      unknownP50Us: Math.round(median(unknown)),
      kindP50Us: Math.round(median(others)),
      takesLonger: Number(shareAbove.toFixed(3)),
      p: Number(p.toPrecision(2)),
      detects80Us: Number(detectableShift(unknown, level, 0.8).toPrecision(2)),
      detects95Us: Number(detectableShift(unknown, level, 0.95).toPrecision(2)),
    }
  })
}

function report(results: readonly Comparison[], level: number): void {
  console.log(
    `${cpus().length} cores, Node ${process.version}, ${pairs} requests of each kind; p below ${level.toPrecision(2)} is a separation`,
  )
  console.table(results)
  console.log(JSON.stringify({ pairs, level, results }))
  const separated = results.filter(({ p }) => p < level)
  for (const { load, row, kind } of separated) console.log(`Separated, ${load}: ${row}: ${kind} from unknown`)
  if (separated.length > 0) process.exitCode = 1
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN
}
