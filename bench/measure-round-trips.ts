import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Line } from './bench.ts'
import { HTTP_ROWS, type HttpRow } from './rows.ts'
import { startNamedHost } from './run/hosts.ts'
import { median, signTokens } from './run/load.ts'
import { PASSWORD, type Target } from './run/target.ts'

/** Between two regions of one continent or two. */
const ROUND_TRIP_MS = 80
const REQUESTS = 15
const SETTLE_MS = 3 * ROUND_TRIP_MS
/** Requests before the measurement, which open the connections and prepare the statements. */
const WARM_REQUESTS = 5

const ROUTES: readonly Pick<HttpRow, 'name' | 'path' | 'order'>[] = [
  ...HTTP_ROWS.filter(({ name }) =>
    [
      'ping, remembered token',
      'ping, fresh tokens',
      'profile, read',
      'profile, write',
      'login, sha1',
      'refresh',
      'reset request',
    ].includes(name),
  ),
  {
    name: 'log-out',
    path: '/logout',
    order: (target) => ({ ...withTokens(target), method: 'POST', status: 204 }),
  },
  {
    name: 'change of the password',
    path: '/profile/password',
    order: (target) => ({
      ...withTokens(target),
      method: 'PUT',
      status: 200,
      bodies: [JSON.stringify({ currentPassword: PASSWORD, password: 'An0ther-Horse!' })],
    }),
  },
]

const withTokens = ({ jwtSecret, issuer, users }: Target) => ({
  connections: 1,
  tokens: { secret: jwtSecret, issuer, userids: users.sha1.map(({ userid }) => userid), count: 256 },
})

/**
 * Counts how often each route waits for the database and for the queue's server, and measures its latency, one request at
 * a time, without a delay and where each round trip to the database takes 80 ms longer.
 */
export async function measureRoundTrips(target: Target): Promise<Line[]> {
  await using database = await startCounter(target.databaseUrl)
  await using queue = await startCounter(target.queueUrl)
  await using host = await startNamedHost('latchkey, PASSWORD_HASH=sha1', {
    ...target,
    databaseUrl: database.url,
    queueUrl: queue.url,
  })
  const lines: Line[] = []
  for (const row of ROUTES) {
    const send = requestsOf(row, target, host.url)
    for (let index = 0; index < WARM_REQUESTS; index++) await send()
    const samples = { near: [] as number[], far: [] as number[] }
    const counts = { database: [] as number[], queue: [] as number[] }
    for (const [distance, delayMs] of [
      ['near', 0],
      ['far', ROUND_TRIP_MS],
    ] as const) {
      database.delayMs = delayMs
      for (let index = 0; index < REQUESTS; index++) {
        const before = { database: database.count, queue: queue.count }
        const begun = performance.now()
        await send()
        samples[distance].push(performance.now() - begun)
        counts.database.push(database.count - before.database)
        counts.queue.push(queue.count - before.queue)
        // For what a request has written and not waited for.
        await wait(SETTLE_MS)
      }
    }
    database.delayMs = 0
    const trips = median(counts.database)
    lines.push({
      host: row.name,
      'to the database': trips,
      'to the queue': median(counts.queue),
      'ms near': median(samples.near),
      'ms far': median(samples.far),
      'expected ms': median(samples.near) + trips * ROUND_TRIP_MS,
    })
  }
  return lines
}

/** Returns what sends the next request of a row, and throws at another status than that of the row. */
function requestsOf({ path, order }: (typeof ROUTES)[number], target: Target, url: string) {
  const { method, bodies = [], tokens, status } = order(target, 1)
  const authorizations = tokens ? signTokens({ ...tokens, count: Math.min(tokens.count, 256) }) : []
  let next = 0
  return async (): Promise<void> => {
    const index = next++
    const body = bodies[index % bodies.length]
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(tokens ? { authorization: authorizations[index % authorizations.length] ?? '' } : {}),
      },
      ...(body ? { body } : {}),
    })
    await response.text()
    if (response.status !== status) throw new Error(`${path} was answered ${response.status}`)
  }
}

/** A proxy to the server of `url`, which counts how often its client waits for an answer, and delays each of them. */
async function startCounter(url: string) {
  const target = new URL(url)
  const through = new URL(url)
  const counter = { url: '', delayMs: 0, count: 0 }
  // What is sent together, over any of the connections, waits once.
  let isWaiting = false
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    client.setNoDelay()
    upstream.setNoDelay()
    client.on('data', (chunk) => {
      isWaiting = true
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      const pass = () => {
        if (isWaiting) counter.count++
        isWaiting = false
        client.write(chunk)
      }
      // A timer of 0 ms would take one.
      if (counter.delayMs === 0) pass()
      else setTimeout(pass, counter.delayMs)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  through.hostname = '127.0.0.1'
  through.port = String((server.address() as AddressInfo).port)
  return Object.assign(counter, {
    url: through.href,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  })
}
