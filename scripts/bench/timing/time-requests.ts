import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Emails, Kind, Row, TimedRequest } from './rows.ts'

/** The microseconds of each request, by kind. */
export type Times = Map<Kind, number[]>

/**
 * Sends one request of each kind in turn, in an order drawn for each turn, so that whatever slows the machine slows all
 * kinds alike.
 */
export async function timeRequests(origin: string, row: Row, emails: Emails): Promise<Times> {
  using agent = openAgent(row.lanes)
  const times: Times = new Map(row.kinds.map((kind) => [kind, []]))
  const turns = emails.unknown.keys()
  const lane = async () => {
    for (const turn of turns)
      for (const kind of shuffle(row.kinds)) {
        const timed = row.request(emails[kind][turn] ?? '')
        const begun = performance.now()
        const { status } = await send(origin, agent, timed)
        times.get(kind)?.push((performance.now() - begun) * 1_000)
        if (status !== row.status)
          throw new Error(`${timed.path} was answered ${status} instead of ${row.status}`)
      }
  }
  await Promise.all(Array.from({ length: row.lanes }, lane))
  return times
}

export async function prepareRow(origin: string, row: Row, emails: Emails): Promise<void> {
  using agent = openAgent(64)
  await row.prepare?.(emails, async (prepared) => {
    const { status, body } = await send(origin, agent, prepared)
    if (status >= 300) throw new Error(`${prepared.path} was answered ${status}: ${body}`)
    return JSON.parse(body)
  })
}

function openAgent(maxSockets: number): Agent & Disposable {
  const agent = new Agent({ keepAlive: true, maxSockets })
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() })
}

async function send(origin: string, agent: Agent, { method, path, body, authorization }: TimedRequest) {
  const json = JSON.stringify(body)
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    ...(authorization === undefined ? {} : { authorization }),
  }
  const sent = request(`${origin}${path}`, { method, agent, headers })
  sent.end(json)
  const [response]: IncomingMessage[] = await once(sent, 'response')
  if (!response) throw new Error('No response')
  return { status: response.statusCode ?? 0, body: await text(response) }
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}
