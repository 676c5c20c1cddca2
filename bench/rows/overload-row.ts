import { setTimeout as wait } from 'node:timers/promises'
import { type Host, measureMib } from '../run/host.ts'
import { startNamedHost } from '../run/hosts.ts'
import { startLoad } from '../run/load.ts'
import { quantile } from '../run/quantile.ts'
import type { Target } from '../run/target.ts'
import { HTTP_ROWS, type HttpRow, STEADY_PING } from './http-rows.ts'

/** Ten times the connections that are enough for all that a replica can answer. */
const CONNECTIONS = 640
const ROWS = ['profile, read', 'profile, write', 'login, argon2id', 'refresh', 'reset request']
/** How a replica may refuse a request; each refusal says when to come back. */
const REFUSALS = [429, 503]
const PINGS_A_SECOND = 100
const IDLE_PROBES = 50
const RECOVERY_PAUSE_MS = 10
const RECOVERY_MS = 5_000

export interface OverloadResult {
  host: string
  perSecond: number
  /** Of pings with a token, which are sent meanwhile. */
  p99Ms: number
  /** From the end of the load to the first probe that takes no longer than twice an idle ping. */
  recoveredMs: number
  /** Resident before the load. */
  beforeMib: number
  peakMib: number
  /** Resident 5 s after the load. */
  afterMib: number
}

/**
 * Sends ten times what a replica can answer to each route in turn; throws at another answer than 200, and than 429 and
 * 503 with Retry-After.
 */
export async function measureOverload(target: Target, seconds: number): Promise<OverloadResult[]> {
  await using host = await startNamedHost('latchkey', target)
  const results: OverloadResult[] = []
  for (const row of HTTP_ROWS.filter(({ name }) => ROWS.includes(name)))
    results.push(await overload(row, target, { host, seconds }))
  return results
}

async function overload(
  row: HttpRow,
  target: Target,
  { host, seconds }: { host: Host; seconds: number },
): Promise<OverloadResult> {
  using sender = startLoad()
  using pinger = startLoad()
  const idleMs = await probeIdle(host)
  const { residentMib: beforeMib } = await measureMib(host)
  const load = { ...row.order(target, seconds), connections: CONNECTIONS, refusals: REFUSALS }
  const pings = { ...STEADY_PING.order(target, seconds), connections: 4, rate: PINGS_A_SECOND }
  const [{ perSecond }, { p99Ms }] = await Promise.all([
    sender.run({ ...load, url: `${host.url}${row.path}`, seconds }),
    pinger.run({ ...pings, url: `${host.url}${STEADY_PING.path}`, seconds }),
  ])
  const recoveredMs = await waitForRecovery(host, 2 * idleMs)
  await wait(RECOVERY_MS - recoveredMs)
  const { residentMib: afterMib, peakMib } = await measureMib(host)
  return { host: row.name, perSecond, p99Ms, recoveredMs, beforeMib, peakMib, afterMib }
}

/** The median time of a probe, in milliseconds. */
async function probeIdle(host: Host): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < IDLE_PROBES; count++) times.push(await probe(host))
  return quantile(times, 0.5)
}

async function waitForRecovery(host: Host, limitMs: number): Promise<number> {
  const begun = performance.now()
  while ((await probe(host)) > limitMs) {
    if (performance.now() - begun > RECOVERY_MS)
      throw new Error(`${host.name} had not recovered ${RECOVERY_MS} ms after the overload`)
    await wait(RECOVERY_PAUSE_MS)
  }
  return performance.now() - begun
}

/** A route that needs neither the database nor a token: what it takes is the wait for the event loop. */
async function probe({ url }: Host): Promise<number> {
  const begun = performance.now()
  const answer = await fetch(`${url}/health/live`)
  await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`/health/live was answered ${answer.status}`)
  return performance.now() - begun
}
