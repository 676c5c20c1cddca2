import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Line } from './line.ts'
import { type HttpRow, ROWS_WITHOUT_ARGON2 } from './rows.ts'
import { startNamedHost } from './run/hosts.ts'
import { median, signTokens } from './run/load.ts'
import type { Target } from './run/target.ts'

/** The time of one round trip between two regions of one continent or of two. */
const ROUND_TRIP_MS = 80
const REQUESTS = 7
/** The time until a request has written all: within a second its mail is queued, and its events are recorded. */
const SETTLE_MS = 1_100
/** Requests before the measurement, which open the connections and prepare the statements. */
const WARM_REQUESTS = 3

/**
 * Counts how often a request of each row waits for the database and for the queue's server, and measures its latency, one at a
 * time, without a delay and where each round trip to the database takes 80 ms longer.
 */
export async function measureRoundTrips(target: Target): Promise<Line[]> {
  await using database = await startCounter(target.databaseUrl)
  await using queue = await startCounter(target.queueUrl)
  const urls = { databaseUrl: database.url, queueUrl: queue.url }
  await using host = await startNamedHost('latchkey, PASSWORD_HASH=sha1', { ...target, ...urls })
  const lines: Line[] = []
  for (const row of ROWS_WITHOUT_ARGON2) {
    const send = createSend(host.url, row, target)
    for (let index = 0; index < WARM_REQUESTS; index++) await send()
    const near = await measureRequests(send, { database, queue }, 0)
    const far = await measureRequests(send, { database, queue }, ROUND_TRIP_MS)
    lines.push({
      host: row.name,
      // Counted with the delay: without it, an answer can come before all is sent that is sent together.
      'to the database': far.database,
      'to the queue': far.queue,
      'ms near': near.ms,
      'ms far': far.ms,
      'expected ms': near.ms + far.database * ROUND_TRIP_MS,
    })
  }
  return lines
}

/** Returns the medians of some requests, with a delay of the database that only the measured requests have. */
async function measureRequests(
  send: () => Promise<void>,
  { database, queue }: { database: Counter; queue: Counter },
  delayMs: number,
) {
  const measured: { ms: number; database: number; queue: number }[] = []
  for (let index = 0; index < REQUESTS; index++) {
    await wait(SETTLE_MS)
    database.delayMs = delayMs
    const before = { database: database.count, queue: queue.count }
    const begun = performance.now()
    await send()
    measured.push({
      ms: performance.now() - begun,
      database: database.count - before.database,
      queue: queue.count - before.queue,
    })
    database.delayMs = 0
  }
  return {
    ms: median(measured.map(({ ms }) => ms)),
    database: median(measured.map((each) => each.database)),
    queue: median(measured.map((each) => each.queue)),
  }
}

/** Returns a function that sends the next request of a row, and throws at another status than that of the row. */
function createSend(url: string, { path, order }: HttpRow, target: Target): () => Promise<void> {
  const { method, bodies = [], tokens, status } = order(target, 1)
  const authorizations = tokens ? signTokens({ ...tokens, count: Math.min(tokens.count, 256) }) : []
  let next = 0
  return async () => {
    const index = next++
    const [body, authorization] = [bodies, authorizations].map((list) => list[index % list.length])
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(authorization ? { authorization } : {}),
      },
      ...(body ? { body } : {}),
    })
    const text = await response.text()
    if (response.status !== status) throw new Error(`${path} was answered ${response.status}: ${text}`)
  }
}

type Counter = Awaited<ReturnType<typeof startCounter>>

/** A proxy to the server of `url`, which counts how often its client waits for an answer, and delays each of them. */
async function startCounter(url: string) {
  const target = new URL(url)
  const through = new URL(url)
  const counter = { url: '', delayMs: 0, count: 0 }
  // Statements that are sent together, over any of the connections, wait once.
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
