import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { Emails, Kind, Row, TimedRequest } from './rows.ts'

/** The microseconds of each request, by kind. */
export type Times = Map<Kind, number[]>

/**
 * Sends one request of each kind in turn, in an order drawn for each turn, so that whatever slows the machine slows all
 * kinds alike. Each lane has a connection of its own.
 */
export async function timeRequests(origin: string, row: Row, emails: Emails): Promise<Times> {
  const agent = new Agent({ keepAlive: true, maxSockets: row.lanes })
  const times: Times = new Map(row.kinds.map((kind) => [kind, []]))
  const turns = emails.unknown.keys()
  const lane = async () => {
    for (const turn of turns)
      for (const kind of shuffle(row.kinds)) {
        const timed = row.request(emails[kind][turn] ?? '')
        times.get(kind)?.push(await time(origin, agent, timed, row.status))
      }
  }
  try {
    await Promise.all(Array.from({ length: row.lanes }, lane))
  } finally {
    agent.destroy()
  }
  return times
}

async function time(
  origin: string,
  agent: Agent,
  { method, path, body, authorization }: TimedRequest,
  status: number,
) {
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(authorization === undefined ? {} : { authorization }),
  }
  const sent = request(`${origin}${path}`, { method, agent, headers })
  const begun = performance.now()
  sent.end(body)
  const [response]: IncomingMessage[] = await once(sent, 'response')
  if (!response) throw new Error('No response')
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== status)
    throw new Error(`${path} was answered ${response.statusCode} instead of ${status}`)
  return (performance.now() - begun) * 1_000
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}
