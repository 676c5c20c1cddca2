import type { Line } from './line.ts'
import type { HttpRow } from './rows.ts'
import type { Host } from './run/host.ts'
import { startNamedHost } from './run/hosts.ts'
import { median, sendLoad } from './run/load.ts'
import type { Target } from './run/target.ts'

const WARM_SECONDS = 1

/** One round of one host. */
interface Sample {
  perSecond: number
  cpuMicros: number
  p50Ms: number
  p99Ms: number
}

export interface HttpOptions {
  rounds: number
  /** Seconds that each measurement takes. */
  seconds: number
}

/** Measures the hosts of a row in turn, round by round. A ratio is the median of the rounds' ratios. */
export async function measureHttp(row: HttpRow, target: Target, options: HttpOptions): Promise<Line[]> {
  await using stack = new AsyncDisposableStack()
  const measured: { host: Host; samples: Sample[] }[] = []
  for (const name of row.hosts)
    measured.push({ host: stack.use(await startNamedHost(name, target)), samples: [] })
  for (let round = 0; round < options.rounds; round++)
    for (const { host, samples } of measured)
      samples.push(await measureOnce(row, target, host, options.seconds))
  const latchkey = measured[0]?.samples ?? []
  return measured.map(({ host, samples: own }) => {
    const middle = (figure: keyof Sample) => median(own.map((sample) => sample[figure]))
    const ratio = (figure: keyof Sample) =>
      median(own.map((sample, round) => (latchkey[round]?.[figure] ?? Number.NaN) / sample[figure]))
    return {
      host: host.name,
      'per s': middle('perSecond'),
      "Latchkey's": ratio('perSecond'),
      'CPU µs': middle('cpuMicros'),
      "Latchkey's CPU": ratio('cpuMicros'),
      'p50 ms': middle('p50Ms'),
      'p99 ms': middle('p99Ms'),
    }
  })
}

async function measureOnce(row: HttpRow, target: Target, host: Host, seconds: number): Promise<Sample> {
  const url = `${host.url}${row.path}`
  // Until the code is compiled, and what is remembered is there.
  await sendLoad({ ...row.order(target, WARM_SECONDS), url, seconds: WARM_SECONDS })
  const before = await host.cpuMicros()
  const { answers, perSecond, p50Ms, p99Ms } = await sendLoad({ ...row.order(target, seconds), url, seconds })
  if (answers === 0) throw new Error(`${host.name} answered nothing within ${seconds} s: ${row.name}`)
  const cpuMicros = ((await host.cpuMicros()) - before) / answers
  return { perSecond, cpuMicros, p50Ms, p99Ms }
}
