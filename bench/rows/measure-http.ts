import { countStatements, type Sent } from '../run/count-statements.ts'
import type { Host } from '../run/host.ts'
import { type HostName, startNamedHost } from '../run/hosts.ts'
import { startLoad } from '../run/load.ts'
import { median } from '../run/quantile.ts'
import type { Target } from '../run/target.ts'
import type { HttpRow } from './http-rows.ts'

const WARM_SECONDS = 1

/** One round of one host. */
interface Sample {
  perSecond: number
  cpuMicros: number
  /** Share of a core. */
  busy: number
  p50Ms: number
  p99Ms: number
}

export interface HttpResult extends Sample {
  row: string
  host: HostName
  rounds: number
  /** Latchkey's throughput divided by this host's, and its processor time per answer. */
  throughputOfLatchkey: number
  cpuOfLatchkey: number
  /** Per answer, one at a time. */
  statements?: number
  roundTrips?: number
}

export interface HttpOptions {
  rounds: number
  seconds: number
  hostOf: (name: HostName) => Promise<Host>
}

/** Measures the hosts of a row in turn, round by round. */
export async function measureHttp(row: HttpRow, target: Target, options: HttpOptions): Promise<HttpResult[]> {
  const samples = new Map<HostName, Sample[]>(row.hosts.map((name) => [name, []]))
  for (let round = 0; round < options.rounds; round++)
    for (const name of row.hosts)
      samples.get(name)?.push(await measureOnce(row, target, await options.hostOf(name), options.seconds))
  const [latchkey = []] = samples.values()
  const results = [...samples].map(([host, own]) => ({
    row: row.name,
    host,
    rounds: options.rounds,
    ...summarise(own),
    throughputOfLatchkey: median(
      own.map(({ perSecond }, round) => (latchkey[round]?.perSecond ?? Number.NaN) / perSecond),
    ),
    cpuOfLatchkey: median(
      own.map(({ cpuMicros }, round) => (latchkey[round]?.cpuMicros ?? Number.NaN) / cpuMicros),
    ),
  }))
  if (!row.hasStatements || process.env.BENCH_URL) return results
  const counted: HttpResult[] = []
  for (const result of results) counted.push({ ...result, ...(await countOf(row, target, result.host)) })
  return counted
}

async function measureOnce(row: HttpRow, target: Target, host: Host, seconds: number): Promise<Sample> {
  const url = `${host.url}${row.path}`
  using sender = startLoad()
  using besides = row.besides && startLoad()
  // Until the code is compiled, and what is remembered is there.
  await sender.run({ ...row.order(target, WARM_SECONDS), url, seconds: WARM_SECONDS })
  const [before, begun] = [await host.cpuMicros(), performance.now()]
  const [measured] = await Promise.all([
    sender.run({ ...row.order(target, seconds), url, seconds }),
    row.besides && besides?.run({ ...row.besides(target), url: `${host.url}/login`, seconds }),
  ])
  const cpu = ((await host.cpuMicros()) ?? Number.NaN) - (before ?? Number.NaN)
  const { perSecond, p50Ms, p99Ms, answers } = measured
  if (answers === 0) throw new Error(`${host.name} answered nothing within ${seconds} s: ${row.name}`)
  return {
    perSecond,
    p50Ms,
    p99Ms,
    cpuMicros: row.besides ? Number.NaN : cpu / answers,
    busy: cpu / 1_000 / (performance.now() - begun),
  }
}

const summarise = (samples: readonly Sample[]): Sample => ({
  perSecond: median(samples.map(({ perSecond }) => perSecond)),
  cpuMicros: median(samples.map(({ cpuMicros }) => cpuMicros)),
  busy: median(samples.map(({ busy }) => busy)),
  p50Ms: median(samples.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(samples.map(({ p99Ms }) => p99Ms)),
})

/** What the host sends to the database for one answer after another. */
async function countOf(row: HttpRow, target: Target, name: HostName): Promise<Sent> {
  await using counter = await countStatements(target.databaseUrl)
  await using host = await startNamedHost(name, target, counter.url)
  using sender = startLoad()
  const order = { ...row.order(target, 1), connections: 1, url: `${host.url}${row.path}`, seconds: 1 }
  await sender.run(order)
  const before = { ...counter.sent }
  const { answers } = await sender.run(order)
  return {
    statements: (counter.sent.statements - before.statements) / answers,
    roundTrips: (counter.sent.roundTrips - before.roundTrips) / answers,
  }
}
