/*
 * Prints the figures of a run of `npm run bench` as Markdown; with --readme the rows of the README alone.
 *
 *   npm run bench:table [-- --readme] [bench.json]
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

type Figures = Readonly<Record<string, unknown>>

const HOST_COLUMNS: Readonly<Record<string, string>> = {
  perSecond: 'per s',
  throughputOfLatchkey: "Latchkey's",
  cpuMicros: 'CPU µs',
  cpuOfLatchkey: "Latchkey's CPU",
  p50Ms: 'p50 ms',
  p99Ms: 'p99 ms',
  statements: 'statements',
  startMs: 'start ms',
  startOfLatchkey: "Latchkey's start",
  inputMs: 'input ms',
  inputOfLatchkey: "Latchkey's input",
  wholeMs: 'start to end ms',
  wholeOfLatchkey: "Latchkey's",
  idleMib: 'idle MiB',
  loadedMib: 'after load MiB',
  peakMib: 'peak MiB',
  recoveredMs: 'recovered ms',
  beforeMib: 'MiB before',
  afterMib: 'MiB after 5 s',
  residentMib: 'resident MiB',
}

const PEER = 'fastify + @fastify/jwt + pg'
/** What a row of the README says, and the row that it is. */
const README_ROWS: Readonly<Record<string, string>> = {
  'a protected endpoint': 'ping, remembered token',
  'the profile': 'profile, read',
  'a login, argon2id': 'login, argon2id',
  'a refresh': 'refresh',
  'a reset request': 'reset request',
}

const { values, positionals } = parseArgs({
  options: { readme: { type: 'boolean' } },
  allowPositionals: true,
})
const { conditions, rounds, seconds, results } = JSON.parse(
  readFileSync(positionals[0] ?? 'bench.json', 'utf8'),
)
const { node, cores, cpu, at } = conditions
console.log(`${rounds} rounds of ${seconds} s, ${cores} cores (${cpu}), Node ${node}, ${at.slice(0, 10)}`)
if (values.readme) printReadmeRows()
else
  for (const [row, measured] of Object.entries<Figures | readonly Figures[]>(results))
    printRow(row, [measured].flat())

/** Latchkey's figures, and what they are of those of its peer in the same run. */
function printReadmeRows(): void {
  console.log('\n| request | per s | p99 ms | throughput | processor time |\n|---|---|---|---|---|')
  for (const [label, row] of Object.entries(README_ROWS)) {
    const lines: readonly Figures[] = results[row] ?? []
    const [own] = lines
    const peer = lines.find(({ host }) => host === PEER)
    const ratios = [peer?.throughputOfLatchkey, peer?.cpuOfLatchkey].map((ratio) => `${toCell(ratio)} ×`)
    console.log(`| ${[label, toCell(own?.perSecond), toCell(own?.p99Ms), ...ratios].join(' | ')} |`)
  }
}

function printRow(row: string, lines: readonly Figures[]): void {
  const columns = Object.keys(HOST_COLUMNS).filter((name) => lines.some((line) => name in line))
  console.log(`\n| ${row} | ${columns.map((name) => HOST_COLUMNS[name]).join(' | ')} |`)
  console.log(`|---|${columns.map(() => '---|').join('')}`)
  for (const line of lines)
    console.log(
      `| ${line.host ?? 'mailer-worker'} | ${columns.map((name) => toCell(line[name])).join(' | ')} |`,
    )
}

/** JSON has no NaN, the figure of what cannot be measured. */
function toCell(value: unknown): string {
  if (typeof value !== 'number') return ''
  return value >= 1_000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}
