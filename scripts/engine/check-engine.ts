import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorMessage } from '@latchkey/shared/app-error.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { formatTable } from '../../admin/console/columns.ts'
import { dropEverything, listTables } from '../../services/test/support/given-database.ts'
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
  if (args.length !== 1 || url === undefined || !URL.canParse(url)) {
    process.stderr.write(USAGE)
    return 2
  }
  try {
    const version = await withDatabase(url, inspect)
    const beganAt = Date.now()
    const results = await runSuites(url)
    await withDatabase(url, dropEverything)
    const rows = AREAS.map((area) => describeArea(area, results))
    const seconds = Math.round((Date.now() - beganAt) / 1_000)
    console.log(
      `\n${version}, in ${seconds} s\n\n${formatTable(
        ['', 'what Latchkey needs', 'tests', 'what would break'],
        rows.map(({ row }) => row),
      )}`,
    )
    for (const { failures } of rows) for (const failure of failures) console.log(`\n${failure}`)
    return rows.every(({ failures }) => failures.length === 0) ? 0 : 1
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`)
    return 1
  }
}

/** The version of the server; throws where the database is not empty. */
async function inspect(db: Database): Promise<string> {
  const tables = await listTables(db)
  if (tables.length > 0)
    throw new Error(
      `The database has tables (${tables.join(', ')}), and the check drops all tables; name an empty database`,
    )
  const [row] = await db.query<{ version: string }>(VERSION)
  return row?.version ?? 'unknown version'
}

/** What Vitest writes about a file. */
interface SuiteResult {
  name: string
  message: string
  assertionResults: { status: string; fullName: string; failureMessages: string[] }[]
}

/** Runs the suites, whose progress is shown; Vitest reads the address from the environment of its configuration. */
async function runSuites(url: string): Promise<SuiteResult[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-engine-'))
  const file = join(folder.path, 'results.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const child = spawn('npx', ['vitest', 'run', '--config', 'vitest.engine.config.ts', ...reporters], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, CHECKED_DATABASE_URL: url },
  })
  await once(child, 'exit')
  return (JSON.parse(await readFile(file, 'utf8')) as { testResults: SuiteResult[] }).testResults
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
    ...(tests.length === 0 ? ['no test ran'] : []),
  ]
  const holds = failures.length === 0
  const count = `${passed.length} of ${passed.length + failed.length}`
  return { row: [holds ? 'holds' : 'FAILS', need, count, holds ? '' : breaks], failures }
}
