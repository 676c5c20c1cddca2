import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describeDifferences } from '@latchkey/shared/database/adoption/describe-differences.ts'
import { requireNoDifferences } from '@latchkey/shared/database/adoption/inspect-database.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { describeRights, FIND_RIGHTS, type QueueRights } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { dropEverything, listFunctions, listTables } from '@latchkey/test-support/given-database.ts'
import { formatTable } from '../../admin/console/format-table.ts'
import { AREAS, type Area, fileOf } from './areas.ts'

const USAGE = `Usage: npm run check:engine -- <url>

Runs Latchkey's suites of databases on an empty database, and shows what holds. What they leave behind is dropped.
Example: npm run check:engine -- postgres://user:password@localhost:5432/scratch
`

const ROOT = join(import.meta.dirname, '../..')
const VERSION = { name: 'engine-version', text: 'select version() as version' }

process.exitCode = await run(process.argv.slice(2))

async function run(args: readonly string[]): Promise<number> {
  const [url] = args
  // A driver takes a default for a database that the URL does not name.
  if (args.length !== 1 || url === undefined || !/^\/./.test(URL.parse(url)?.pathname ?? '')) {
    process.stderr.write(USAGE)
    return 2
  }
  try {
    const version = await withDatabase(url, inspect)
    console.log(`${version}\nThe suites take up to two minutes.`)
    const beganAt = Date.now()
    const results = await runSuites(url).finally(() => withDatabase(url, dropEverything))
    const rows = AREAS.map((area) => describeArea(area, results))
    const seconds = Math.round((Date.now() - beganAt) / 1_000)
    console.log(
      `In ${seconds} s:\n\n${formatTable(
        ['', 'what Latchkey needs', 'tests', 'what would break'],
        rows.map(({ row }) => row),
      )}`,
    )
    const failures = new Set(rows.flatMap((each) => each.failures))
    for (const failure of failures) console.log(`\n${failure}`)
    return failures.size === 0 ? 0 : 1
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`)
    return 1
  }
}

/** The version of the server; throws where the database is not empty, has no transactions, or cannot be migrated. */
async function inspect(db: Database): Promise<string> {
  const found = [...(await listTables(db)), ...(await listFunctions(db))]
  if (found.length > 0)
    throw new Error(
      `The database has tables or functions (${found.join(', ')}), and the check drops all; name an empty database`,
    )
  requireNoDifferences(await createMigrator(db).inspect(), false)
  await warnOfQueue(db)
  const [row] = await db.transaction((transaction) => transaction.query<{ version: string }>(VERSION))
  return row?.version ?? 'unknown version'
}

/** The queue can also be in Redis. */
async function warnOfQueue(db: Database): Promise<void> {
  if (db.dialect.name !== 'postgres') return
  const [rights] = await db.query<QueueRights>(FIND_RIGHTS)
  const faults = rights ? describeRights(rights) : []
  if (faults.length > 0) console.error(`Warning: ${describeDifferences(faults)}`)
}

/** The result that Vitest writes about a file. */
interface SuiteResult {
  name: string
  message: string
  assertionResults: { status: string; fullName: string; failureMessages: string[] }[]
}

/** Runs the suites; Vitest reads the address from the environment of its configuration. */
async function runSuites(url: string): Promise<SuiteResult[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-engine-'))
  const file = join(folder.path, 'results.json')
  const options = ['--mode', 'engine', '--reporter=json', `--outputFile.json=${file}`]
  const child = spawn('npx', ['vitest', 'run', ...options], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, CHECKED_DATABASE_URL: url },
  })
  // Ctrl-C ends the suites too, and what they have created is dropped first.
  process.once('SIGINT', () => undefined)
  const [errors] = await Promise.all([text(child.stderr), once(child, 'exit')])
  const results = await readFile(file, 'utf8').catch(() => {
    throw new Error(`The suites did not end: ${errors}`)
  })
  return (JSON.parse(results) as { testResults: SuiteResult[] }).testResults
}

interface Described {
  row: string[]
  failures: string[]
}

function describeArea({ need, suites, breaks }: Area, results: readonly SuiteResult[]): Described {
  const found = results.filter(({ name }) => suites.some((suite) => name.endsWith(fileOf(suite))))
  const tests = found.flatMap(({ assertionResults }) => assertionResults)
  const passed = tests.filter(({ status }) => status === 'passed')
  const failed = tests.filter(({ status }) => status === 'failed')
  const failures = [
    ...found.flatMap(({ message }) => (message ? [message] : [])),
    ...failed.map(({ fullName, failureMessages: [reason = ''] }) => `${fullName}: ${reason.split('\n', 1)}`),
    ...(passed.length + failed.length === 0 ? ['Some suites did not begin'] : []),
  ]
  const count = `${passed.length} of ${passed.length + failed.length}`
  if (failures.length === 0) return { row: ['holds', need, count, ''], failures }
  return {
    row: failed.length === 0 ? ['not run', need, count, ''] : ['FAILS', need, count, breaks],
    failures,
  }
}
