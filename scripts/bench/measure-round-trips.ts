import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import type { Line } from './line.ts'
import { createRoundTripRows, type RoundTripRow, type Send } from './round-trip-rows.ts'
import { type HostName, startNamedHost } from './run/hosts.ts'
import { median } from './run/load.ts'
import type { Target } from './run/target.ts'

/** The time of one round trip between two regions of one continent or of two. */
const ROUND_TRIP_MS = 80
const REQUESTS = 7
/** What a request writes later is in the database within a second: its mail is queued, and its events are recorded. */
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
  const db = await openDatabase(target.databaseUrl)
  try {
    const lines: Line[] = []
    for (const [name, rows = []] of Object.entries(
      Object.groupBy(createRoundTripRows(db, target), ({ host }) => host),
    )) {
      const urls = { databaseUrl: database.url, queueUrl: queue.url }
      await using host = await startNamedHost(name as HostName, { ...target, ...urls })
      const send = createSend(host.url)
      for (const row of rows) lines.push(await measureRow(row, send, { database, queue }))
    }
    return lines
  } finally {
    await db.close()
  }
}

interface Servers {
  database: Counter
  queue: Counter
}

async function measureRow(row: RoundTripRow, send: Send, servers: Servers): Promise<Line> {
  for (let index = 0; index < WARM_REQUESTS; index++) await send(await row.prepare(send))
  const near = await measureRequests(row, send, servers, 0)
  const far = await measureRequests(row, send, servers, ROUND_TRIP_MS)
  return {
    host: row.name,
    // Counted with the delay: without it, an answer can come before all is sent that is sent together.
    'to the database': far.database,
    'to the queue': far.queue,
    'ms near': near.ms,
    'ms far': far.ms,
    'expected ms': near.ms + far.database * ROUND_TRIP_MS,
  }
}

/** Returns the medians of some requests, with a delay of the database that only the measured requests have. */
async function measureRequests(
  { prepare }: RoundTripRow,
  send: Send,
  { database, queue }: Servers,
  delayMs: number,
) {
  const measured: { ms: number; database: number; queue: number }[] = []
  for (let index = 0; index < REQUESTS; index++) {
    const request = await prepare(send)
    await wait(SETTLE_MS)
    database.delayMs = delayMs
    const before = { database: database.count, queue: queue.count }
    const begun = performance.now()
    await send(request)
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

/** Returns what sends a request, and throws at another status than that of the request. */
const createSend =
  (url: string): Send =>
  async ({ method, path, status, body, authorization }) => {
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
    return text ? JSON.parse(text) : {}
  }

type Counter = Awaited<ReturnType<typeof startCounter>>

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
