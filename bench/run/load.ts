import { join } from 'node:path'
import { nextMessage, spawnPinned } from './pinned-process.ts'

/** Requests of one kind, as many as the connections carry. */
export interface LoadOrder {
  url: string
  method: 'GET' | 'POST' | 'PUT'
  /** JSON, sent in turn. Default: no body. */
  bodies?: readonly string[]
  tokens?: TokenOrder
  connections: number
  seconds: number
  /** Requests a second, at most. Default: no limit. */
  rate?: number
  /** The status of every answer. */
  status: number
  /** Statuses of refusals, which do not count as answers. Default: none. */
  refusals?: readonly number[]
}

/** The tokens of the requests, sent in turn. */
export interface TokenOrder {
  /** Base64. */
  secret: string
  issuer: string
  userids: readonly string[]
  count: number
}

export interface Load {
  answers: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** What the process of the load sends back. `wrong`: how many requests had another outcome, by that outcome. */
export type LoadReport = Load & { wrong: Readonly<Record<string, number>> }

export interface LoadSender extends Disposable {
  /** Throws if an answer has another status. */
  run(order: LoadOrder): Promise<Load>
}

/** Starts a process that sends requests, with another core where there is one. */
export function startLoad(): LoadSender {
  const sender = spawnPinned('load', join(import.meta.dirname, 'load-process.ts'), process.env)
  return {
    async run(order) {
      const report = nextMessage<LoadReport>('the load', sender)
      sender.send(order)
      const { wrong, ...measured } = await report
      const outcomes = Object.entries(wrong).map(([outcome, count]) => `${count} times ${outcome}`)
      if (outcomes.length === 0) return measured
      throw new Error(
        `${order.method} ${order.url} was answered ${outcomes.join(', ')} instead of ${order.status}`,
      )
    },
    [Symbol.dispose]: () => void sender.kill(),
  }
}
