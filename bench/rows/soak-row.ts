import { type Host, measureMib } from '../run/host.ts'
import { startNamedHost } from '../run/hosts.ts'
import { startLoad } from '../run/load.ts'
import type { Target } from '../run/target.ts'
import { FRESH_A_SECOND, HTTP_ROWS, type HttpRow } from './http-rows.ts'

const SLICE_SECONDS = 300
const CONNECTIONS = 8
/** What a replica does all day: the share of the rate of each row. */
const DAILY: Readonly<Record<string, number>> = {
  'ping, remembered token': 1,
  'ping, fresh tokens': 1,
  'profile, read': 1,
  'profile, write': 0.5,
  refresh: 0.5,
  'login, argon2id': 0.1,
  'reset request': 0.1,
}
/** The fewest fresh tokens that a row orders for each of its seconds: those of refresh. */
const TOKENS_A_SECOND = FRESH_A_SECOND / 2

export interface SoakOptions {
  minutes: number
  /** Requests a second of the most frequent row. */
  rate: number
}

export interface SoakResult {
  host: string
  residentMib: number
  peakMib: number
}

/** Sends each kind of daily request at the same time and at a steady rate; reads the memory every five minutes. */
export async function measureSoak(target: Target, { minutes, rate }: SoakOptions): Promise<SoakResult[]> {
  await using host = await startNamedHost('latchkey', target)
  const results: SoakResult[] = []
  const report = async (minute: number) => {
    const { residentMib, peakMib } = await measureMib(host)
    results.push({ host: `latchkey, minute ${minute}`, residentMib, peakMib })
    console.log(`minute ${minute}: ${Math.round(residentMib)} MiB resident, ${Math.round(peakMib)} at most`)
  }
  await report(0)
  for (let left = minutes * 60; left > 0; left -= SLICE_SECONDS) {
    await sendDaily(target, host, { rate, seconds: Math.min(left, SLICE_SECONDS) })
    await report(minutes - Math.max(left - SLICE_SECONDS, 0) / 60)
  }
  return results
}

async function sendDaily(
  target: Target,
  host: Host,
  { rate, seconds }: { rate: number; seconds: number },
): Promise<void> {
  const rows = HTTP_ROWS.filter(({ name }) => name in DAILY)
  await Promise.all(rows.map((row) => send(row, rate * (DAILY[row.name] ?? 0))))

  async function send(row: HttpRow, perSecond: number): Promise<void> {
    using sender = startLoad()
    // Twice the tokens that are needed, since the rate is not exact.
    const order = row.order(target, Math.ceil((2 * perSecond * seconds) / TOKENS_A_SECOND))
    await sender.run({
      ...order,
      connections: CONNECTIONS,
      rate: Math.ceil(perSecond),
      url: `${host.url}${row.path}`,
      seconds,
    })
  }
}
