/*
 * Measures Latchkey beside a service written by hand, and beside the limits of what both are made of.
 *
 *   npm run bench [-- --row ping --row start] [--rounds 3] [--duration 2] [--json bench.json]
 *   npm run bench -- --growth [--users 1000,100000,1000000]
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { rootReason } from '@latchkey/shared/root-reason.ts'
import { measureCommands } from './rows/command-row.ts'
import { measureGrowth } from './rows/growth-row.ts'
import { HTTP_ROWS, type HttpRow } from './rows/http-rows.ts'
import { measureMail } from './rows/mail-row.ts'
import { measureHttp } from './rows/measure-http.ts'
import { measureOverload } from './rows/overload-row.ts'
import { measureMemory, measureStart } from './rows/process-rows.ts'
import { measureSoak } from './rows/soak-row.ts'
import { measureTerminals } from './rows/terminal-row.ts'
import { openHosts } from './run/hosts.ts'
import { pinBenchmark } from './run/pinned-process.ts'
import { conditions, printHosts, printHttp, printTable } from './run/report.ts'
import { prepareTarget, type Target, type TargetUrls } from './run/target.ts'
import { withPostgres } from './with-postgres.ts'

const { values } = parseArgs({
  options: {
    row: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '3' },
    duration: { type: 'string', default: '2' },
    json: { type: 'string', default: 'bench.json' },
    soak: { type: 'string', default: '0' },
    'soak-rate': { type: 'string', default: '50' },
    growth: { type: 'boolean', default: false },
    users: { type: 'string', default: '1000,100000,1000000' },
    'database-pid': { type: 'string' },
  },
})
const rounds = wholeNumber('rounds')
const seconds = wholeNumber('duration')
const soak = { minutes: wholeNumber('soak', 0), rate: wholeNumber('soak-rate') }
/** What is measured once the requests are, each a line for every host. */
const OTHER_ROWS: Readonly<Record<string, (target: Target) => Promise<{ host: string }[]>>> = {
  'cold start': (target) => measureStart(target, 2 * rounds + 1),
  memory: (target) => (soak.minutes > 0 ? measureSoak(target, soak) : measureMemory(target, seconds)),
  mail: measureMail,
  overload: (target) => measureOverload(target, seconds),
  terminal: () => measureTerminals(2 * rounds + 1),
  command: () => measureCommands(2 * rounds + 1),
}
const { BENCH_URL, DATABASE_URL, QUEUE_URL } = process.env
refuseUnknownRows()
const sizes = values.users.split(',').map(Number)
const serverPid = values['database-pid'] === undefined ? undefined : Number(values['database-pid'])
refuseUnusableGrowth()
refuseIncomplete()
await refuseUnreachable()

pinBenchmark()
if (DATABASE_URL) await run({ databaseUrl: DATABASE_URL, queueUrl: QUEUE_URL ?? DATABASE_URL })
else await withPostgres((databaseUrl) => run({ databaseUrl, queueUrl: QUEUE_URL ?? databaseUrl }))

async function run(urls: TargetUrls): Promise<void> {
  const target = await prepareTarget(urls)
  const results: Record<string, unknown> = {}
  try {
    if (values.growth) await runGrowth(target, results)
    else {
      await runHttpRows(target, results)
      await runOtherRows(target, results)
    }
  } finally {
    // What has been measured before a failure is worth its time.
    await writeFile(
      values.json,
      `${JSON.stringify({ conditions: conditions(), rounds, seconds, results }, null, 2)}\n`,
    )
  }
}

async function runHttpRows(target: Target, results: Record<string, unknown>): Promise<void> {
  await using hosts = openHosts(target)
  for (const row of HTTP_ROWS.filter((each) => isChosen(each.name) && isMeasurable(each))) {
    const measured = await measureHttp(row, target, { rounds, seconds, hostOf: hosts.get })
    results[row.name] = measured
    printHttp(row.name, measured)
  }
}

/** A Latchkey elsewhere has the settings that it has, and its statements pass no counter. */
function isMeasurable({ hosts }: HttpRow): boolean {
  return !BENCH_URL || hosts.includes('latchkey')
}

async function runOtherRows(target: Target, results: Record<string, unknown>): Promise<void> {
  if (BENCH_URL) return
  for (const [name, measure] of Object.entries(OTHER_ROWS).filter(([row]) => isChosen(row))) {
    const measured = await measure(target)
    results[name] = measured
    printHosts(name, measured)
  }
}

async function runGrowth(target: Target, results: Record<string, unknown>): Promise<void> {
  const measured = await measureGrowth(target, { sizes, seconds, serverPid })
  results.growth = measured
  for (const [row, lines] of Map.groupBy(measured, ({ row }) => row))
    printTable(row, Object.fromEntries(lines.map(({ users, row: _, ...line }) => [`${users} users`, line])))
}

function isChosen(name: string): boolean {
  return values.row.length === 0 || values.row.some((part) => name.includes(part))
}

/** A Latchkey elsewhere signs and reads with its own secrets, and knows the users of its own database. */
function refuseIncomplete(): void {
  const missing = ['DATABASE_URL', 'JWT_SECRET', 'MAIL_SECRET', 'API_SERVER'].filter(
    (name) => !process.env[name],
  )
  if (!BENCH_URL || missing.length === 0) return
  console.error(`BENCH_URL also needs ${missing.join(', ')}, as the service at that address has them`)
  process.exit(64)
}

/** Before anything is started. A queue is in PostgreSQL or Redis. */
function refuseUnusableGrowth(): void {
  const refuse = (reason: string) => {
    console.error(reason)
    process.exit(64)
  }
  if (!sizes.every((size) => Number.isInteger(size) && size > 0))
    refuse(`--users must be whole numbers separated by commas, not ${values.users}`)
  if (serverPid !== undefined && !(serverPid > 0 && existsSync(`/proc/${serverPid}`)))
    refuse(
      `--database-pid must be the process of the database on this machine, not ${values['database-pid']}`,
    )
  if (values.growth && BENCH_URL)
    refuse('--growth measures the database of a Latchkey that it starts: unset BENCH_URL')
  if (DATABASE_URL && !DATABASE_URL.startsWith('postgres') && !QUEUE_URL)
    refuse('Set QUEUE_URL, for example to redis://127.0.0.1:6379: a queue cannot be in that database')
}

/** Before the database receives users. */
async function refuseUnreachable(): Promise<void> {
  if (!BENCH_URL) return
  const url = `${BENCH_URL.replace(/\/$/, '')}/health/live`
  const fault = await fetch(url).then(
    ({ ok, status }) => (ok ? undefined : `it answers ${status}`),
    (error: unknown) => rootReason(error),
  )
  if (fault === undefined) return
  console.error(`BENCH_URL names no Latchkey that answers GET ${url}: ${fault}`)
  process.exit(69)
}

/** Before anything is started. */
function refuseUnknownRows(): void {
  const others = BENCH_URL ? [] : Object.keys(OTHER_ROWS)
  const known = [...HTTP_ROWS.filter(isMeasurable).map(({ name }) => name), ...others]
  const unknown = values.row.find((part) => !known.some((name) => name.includes(part)))
  if (unknown === undefined) return
  const which = BENCH_URL ? 'The rows with BENCH_URL' : 'The rows'
  console.error(`No row's name contains ${JSON.stringify(unknown)}. ${which} are:\n  ${known.join('\n  ')}`)
  process.exit(64)
}

function wholeNumber(name: 'rounds' | 'duration' | 'soak' | 'soak-rate', minimum = 1): number {
  const value = Number(values[name])
  if (Number.isInteger(value) && value >= minimum) return value
  console.error(`--${name} must be a whole number, at least ${minimum}, not ${values[name]}`)
  process.exit(64)
}
