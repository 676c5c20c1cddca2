import { setTimeout as wait } from 'node:timers/promises'
import { measureMib } from '../run/host.ts'
import { type HostName, startNamedHost } from '../run/hosts.ts'
import { startLoad } from '../run/load.ts'
import { median } from '../run/quantile.ts'
import type { Target } from '../run/target.ts'
import { HTTP_ROWS } from './http-rows.ts'

const HOSTS: readonly HostName[] = ['latchkey', 'fastify + @fastify/jwt + pg', 'fastify']
const IDLE_MS = 5_000
/** What a replica does all day. */
const DAILY = ['ping, remembered token', 'profile, read', 'login, argon2id']

export interface StartResult {
  host: HostName
  /** From the spawn to the message that it is ready. */
  startMs: number
  startOfLatchkey: number
}

/** Starts the hosts in turn, round by round. */
export async function measureStart(target: Target, rounds: number): Promise<StartResult[]> {
  const times = new Map<HostName, number[]>(HOSTS.map((name) => [name, []]))
  // Each compiles its modules once.
  for (const name of HOSTS) await (await startNamedHost(name, target))[Symbol.asyncDispose]()
  for (let round = 0; round < rounds; round++)
    for (const name of HOSTS) {
      await using host = await startNamedHost(name, target)
      times.get(name)?.push(host.startMs)
    }
  const [latchkey = []] = times.values()
  return [...times].map(([host, own]) => ({
    host,
    startMs: median(own),
    startOfLatchkey: median(own.map((each, round) => (latchkey[round] ?? Number.NaN) / each)),
  }))
}

export interface MemoryResult {
  host: HostName
  idleMib: number
  loadedMib: number
  peakMib: number
}

/** Resident memory of each host: without a request, and after every kind of daily request for `seconds` each. */
export async function measureMemory(target: Target, seconds: number): Promise<MemoryResult[]> {
  const results: MemoryResult[] = []
  for (const name of HOSTS) results.push(await measureHost(name, target, seconds))
  return results
}

async function measureHost(name: HostName, target: Target, seconds: number): Promise<MemoryResult> {
  await using host = await startNamedHost(name, target)
  await wait(IDLE_MS)
  const idle = await measureMib(host)
  for (const row of HTTP_ROWS.filter((each) => DAILY.includes(each.name) && each.hosts.includes(name))) {
    using sender = startLoad()
    await sender.run({ ...row.order(target, seconds), url: `${host.url}${row.path}`, seconds })
  }
  const loaded = await measureMib(host)
  return {
    host: name,
    idleMib: idle.residentMib,
    loadedMib: loaded.residentMib,
    peakMib: loaded.peakMib,
  }
}
