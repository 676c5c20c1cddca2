import { setTimeout as wait } from 'node:timers/promises'
import type { Host } from '../run/host.ts'
import { startNamedHost } from '../run/hosts.ts'
import { startLoad } from '../run/load.ts'
import { quantile } from '../run/quantile.ts'
import type { Target } from '../run/target.ts'
import { HTTP_ROWS, type HttpRow } from './http-rows.ts'

/** Ten times the connections that are enough for all that a replica can answer. */
const CONNECTIONS = 640
const ROWS = ['profile, read', 'profile, write', 'login, argon2id', 'refresh', 'reset request']
/** How a replica may refuse a request; each refusal says when to come back. */
const REFUSALS = [429, 503]
const PING_PAUSE_MS = 10
const RECOVERY_MS = 5_000

export interface OverloadResult {
  host: string
  perSecond: number
  /** Of pings that are sent meanwhile. */
  p99Ms: number
  peakMib: number
  /** From the end of the load to the first ping that takes no longer than twice an idle one. */
  recoveredMs: number
}

/** Sends ten times what a replica can answer to each route in turn; throws at another answer than 200, 429 and 503. */
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
  const idleMs = quantile(await pingFor(host, 500), 0.5)
  const order = { ...row.order(target, seconds), connections: CONNECTIONS, refusals: REFUSALS }
  const [{ perSecond }, pings] = await Promise.all([
    sender.run({ ...order, url: `${host.url}${row.path}`, seconds }),
    pingFor(host, seconds * 1_000),
  ])
  return {
    host: row.name,
    perSecond,
    p99Ms: quantile(pings, 0.99),
    recoveredMs: await waitForRecovery(host, 2 * idleMs),
    peakMib: (await host.memory())?.peakMib ?? Number.NaN,
  }
}

/** Pings one after the other; returns how long each took, in milliseconds. */
async function pingFor(host: Host, durationMs: number): Promise<number[]> {
  const times: number[] = []
  for (const end = performance.now() + durationMs; performance.now() < end; await wait(PING_PAUSE_MS))
    times.push(await ping(host))
  return times
}

async function waitForRecovery(host: Host, limitMs: number): Promise<number> {
  const begun = performance.now()
  while ((await ping(host)) > limitMs) {
    if (performance.now() - begun > RECOVERY_MS)
      throw new Error(`${host.name} had not recovered ${RECOVERY_MS} ms after the overload`)
    await wait(PING_PAUSE_MS)
  }
  return performance.now() - begun
}

/** A route that needs neither the database nor a token: what it takes is the wait for the event loop. */
async function ping({ url }: Host): Promise<number> {
  const begun = performance.now()
  const answer = await fetch(`${url}/health/live`)
  await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`/health/live was answered ${answer.status}`)
  return performance.now() - begun
}
