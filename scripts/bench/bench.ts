/*
 * Measures Latchkey beside the same service written by hand and beside bare Fastify.
 *
 *   npm run bench [-- --row ping --row start] [--rounds 3] [--duration 2] [--json bench.json]
 *   npm run bench -- --row growth [--users 1000,100000]
 */
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Line } from './line.ts'
import { measureGrowth } from './measure-growth.ts'
import { measureHttp } from './measure-http.ts'
import { measureMail } from './measure-mail.ts'
import { measureMemory, measureStart } from './measure-process.ts'
import { measureRoundTrips } from './measure-round-trips.ts'
import { HTTP_ROWS } from './rows.ts'
import { canPin, pinBenchmark } from './run/host.ts'
import { prepareTarget, type Target } from './run/target.ts'
import { withPostgres } from './with-postgres.ts'

const { values } = parseArgs({
  options: {
    row: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '3' },
    duration: { type: 'string', default: '2' },
    users: { type: 'string', default: '1000,100000' },
    json: { type: 'string', default: 'bench.json' },
  },
})
const rounds = toWholeNumber('rounds', values.rounds)
const seconds = toWholeNumber('duration', values.duration)
const users = values.users.split(',').map((number) => toWholeNumber('users', number))

const ROWS: Readonly<Record<string, (target: Target) => Promise<Line[]>>> = {
  ...Object.fromEntries(
    HTTP_ROWS.map((row) => [row.name, (target: Target) => measureHttp(row, target, { rounds, seconds })]),
  ),
  'cold start': (target) => measureStart(target, 2 * rounds + 1),
  memory: (target) => measureMemory(target, seconds),
  mail: measureMail,
  growth: (target) => measureGrowth(target, { sizes: users, seconds }),
  'round trips': measureRoundTrips,
}
const chosen = Object.entries(ROWS).filter(
  ([name]) => values.row.length === 0 || values.row.some((part) => name.includes(part)),
)
const unknown = values.row.find((part) => !Object.keys(ROWS).some((name) => name.includes(part)))
if (unknown !== undefined)
  refuse(
    `No row's name contains ${JSON.stringify(unknown)}. The rows are:\n  ${Object.keys(ROWS).join('\n  ')}`,
  )

const { DATABASE_URL, QUEUE_URL } = process.env
pinBenchmark()
if (DATABASE_URL) await run(DATABASE_URL)
else await withPostgres(run)

async function run(databaseUrl: string): Promise<void> {
  const target = await prepareTarget(databaseUrl, QUEUE_URL ?? databaseUrl)
  const conditions = {
    node: process.version,
    cores: cpus().length,
    cpu: cpus()[0]?.model,
    isPinned: canPin,
    at: new Date().toISOString(),
  }
  console.log(
    `${rounds} rounds of ${seconds} s, ${conditions.cores} cores (${conditions.cpu}), Node ${conditions.node}`,
  )
  const results: Record<string, Line[]> = {}
  try {
    for (const [name, measure] of chosen) {
      results[name] = await measure(target)
      print(name, results[name])
    }
  } finally {
    // The results from before a failure are kept: measuring them took long.
    await writeFile(values.json, `${JSON.stringify({ conditions, rounds, seconds, results }, null, 2)}\n`)
  }
}

/** Prints a row as a Markdown table. */
function print(name: string, lines: readonly Line[]): void {
  const columns = [...new Set(lines.flatMap((line) => Object.keys(line)))].filter((key) => key !== 'host')
  console.log(`\n| ${[name, ...columns].join(' | ')} |\n|${'---|'.repeat(columns.length + 1)}`)
  for (const line of lines)
    console.log(`| ${[line.host, ...columns.map((column) => format(line[column]))].join(' | ')} |`)
}

function format(value: unknown): string {
  if (typeof value !== 'number' || Number.isNaN(value)) return ''
  return value >= 1_000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

function toWholeNumber(option: string, text: string): number {
  const value = Number(text)
  return Number.isInteger(value) && value > 0
    ? value
    : refuse(`--${option} must be a whole number above 0, not ${text}`)
}

function refuse(reason: string): never {
  console.error(reason)
  process.exit(64)
}
