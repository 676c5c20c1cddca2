/*
 * Prints the figures of a run of `npm run bench` as Markdown.
 *
 *   node bench/table.ts [bench.json]
 */
import { readFileSync } from 'node:fs'

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
  idleMib: 'idle MiB',
  loadedMib: 'after load MiB',
  peakMib: 'peak MiB',
  residentMib: 'resident MiB',
}

const { conditions, rounds, seconds, results } = JSON.parse(
  readFileSync(process.argv[2] ?? 'bench.json', 'utf8'),
)
const { node, cores, cpu, at } = conditions
console.log(`${rounds} rounds of ${seconds} s, ${cores} cores (${cpu}), Node ${node}, ${at.slice(0, 10)}`)
for (const [row, measured] of Object.entries<Figures | readonly Figures[]>(results)) {
  const lines = [measured].flat()
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
