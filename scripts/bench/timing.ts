/*
 * Measures whether response times reveal that an e-mail is known: for each route, and each state of a reset, in which an
 * e-mail may be known or not, sends requests about unknown, known and deleted ones in turn, idle and under load. Compares
 * them by a rank test (Mann and Whitney). Exits with 1 if any comparison is further from chance than LIMIT.
 *
 *   npm run bench:timing [-- --pairs 1500 --rows 'login|resetrequest' --load idle]
 */
import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { getScheme } from '@latchkey/shared/passwords/schemes.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import autocannon from 'autocannon'
import { startNamedHost } from './run/hosts.ts'
import { median } from './run/load.ts'
import { PASSWORD, prepareTarget } from './run/target.ts'
import { compareRanks } from './timing/rank-test.ts'
import { createRows, type Emails, type Row } from './timing/rows.ts'
import { prepareRow, timeRequests } from './timing/time-requests.ts'
import { withPostgres } from './with-postgres.ts'

/** Standard deviations. One of sixty comparisons without any separation is as far from chance in one run of a hundred. */
const LIMIT = 3.75
const LOADS = ['idle', 'loaded'] as const

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '1500' },
    rows: { type: 'string', default: '.' },
    load: { type: 'string', default: LOADS.join('|') },
  },
})
const pairs = Number(values.pairs)

await withPostgres(async (databaseUrl) => {
  const target = await prepareTarget(databaseUrl, databaseUrl)
  const db = await openDatabase(databaseUrl)
  try {
    const rows = createRows(db, target).filter(({ name }) => new RegExp(values.rows).test(name))
    const loads = LOADS.filter((load) => new RegExp(values.load).test(load))
    if (rows.length === 0 || loads.length === 0) throw new Error('No row has such a name or load')
    const emails = await storeUsers(db)
    await using host = await startNamedHost('latchkey', target)
    for (const row of rows) await measureRow(host.url, row, firstOf(emails, 50)) // Warms the code.
    for (const load of loads) {
      using _others = load === 'loaded' ? startOthers(host.url) : undefined
      for (const row of rows) await measureRow(host.url, row, emails, load)
    }
  } finally {
    await db.close()
  }
})

/** Four other clients, whose requests read the database, in a thread of their own. */
function startOthers(url: string): Disposable {
  const options = {
    url: `${url}/login/confirmcode`,
    method: 'POST' as const,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'somebody@example.com', code: '000000' }),
    connections: 4,
    overallRate: 400,
    duration: 3_600,
    workers: 1,
  }
  const others = autocannon(options, () => undefined)
  return { [Symbol.dispose]: () => others.stop() }
}

async function storeUsers(db: Database): Promise<Emails> {
  const passwordHash = await getScheme('argon2id').hash(PASSWORD)
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

/** Prints each comparison with an unknown e-mail; without a load nothing is printed. */
async function measureRow(url: string, row: Row, emails: Emails, load?: string): Promise<void> {
  await prepareRow(url, row, emails)
  const times = await timeRequests(url, row, emails)
  const unknown = times.get('unknown') ?? []
  for (const kind of load ? row.kinds.slice(1) : []) {
    const others = times.get(kind) ?? []
    const { shareAbove, deviations } = compareRanks(others, unknown)
    const isSeparated = deviations > LIMIT
    if (isSeparated) process.exitCode = 1
    console.log(
      `${load}: ${row.name}: unknown ${median(unknown).toFixed(0)} µs, ${kind} ${median(others).toFixed(0)} µs, ` +
        `takes longer in ${shareAbove.toFixed(3)} of the pairs, ${deviations.toFixed(2)} deviations from chance` +
        (isSeparated ? ' SEPARATED' : ''),
    )
  }
}
