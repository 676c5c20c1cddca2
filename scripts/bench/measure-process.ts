import { setTimeout as wait } from 'node:timers/promises'
import type { Line } from './line.ts'
import { HTTP_ROWS } from './rows.ts'
import { type HostName, startNamedHost } from './run/hosts.ts'
import { median, sendLoad } from './run/load.ts'
import type { Target } from './run/target.ts'

const HOSTS: readonly HostName[] = ['latchkey', 'fastify + @fastify/jwt + pg', 'fastify']
const IDLE_MS = 5_000
/** The requests that a replica answers all day. */
const DAILY = ['ping, remembered token', 'profile, read', 'login, argon2id']
/** Ten times the connections that are enough for all that a replica can answer, and how it may refuse. */
const OVERLOAD = { connections: 640, refusals: [429, 503] }

/** Starts the hosts in turn, round by round; the time is that from the spawn to the message that it is ready. */
export async function measureStart(target: Target, rounds: number): Promise<Line[]> {
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
    'start ms': median(own),
    "Latchkey's start": median(own.map((each, round) => (latchkey[round] ?? Number.NaN) / each)),
  }))
}

/**
 * Resident memory of each host, in MiB: without a request, after every kind of daily request, at most, and 5 s after
 * ten times the load that it can answer. The peers refuse nothing, so only Latchkey is overloaded.
 */
export async function measureMemory(target: Target, seconds: number): Promise<Line[]> {
  const lines: Line[] = []
  for (const name of HOSTS) {
    await using host = await startNamedHost(name, target)
    const send = async (order: object) => {
      for (const row of HTTP_ROWS.filter((each) => DAILY.includes(each.name) && each.hosts.includes(name))) {
        await sendLoad({ ...row.order(target, seconds), ...order, url: `${host.url}${row.path}`, seconds })
      }
    }
    await wait(IDLE_MS)
    const idle = await host.memory()
    await send({})
    const loaded = await host.memory()
    const figures = {
      'idle MiB': idle.residentMib,
      'after load MiB': loaded.residentMib,
      'peak MiB': loaded.peakMib,
    }
    if (name !== 'latchkey') {
      lines.push({ host: name, ...figures })
      continue
    }
    await send(OVERLOAD)
    await wait(IDLE_MS)
    const { residentMib, peakMib } = await host.memory()
    lines.push({ host: name, ...figures, 'after overload MiB': residentMib, 'overload peak MiB': peakMib })
  }
  return lines
}
