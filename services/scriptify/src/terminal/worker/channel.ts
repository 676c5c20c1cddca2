import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { printable } from '@latchkey/text/printable.ts'
import { printableInColours } from '../front/coloured-text.ts'
import {
  type Answer,
  type AnswerOf,
  type EndRequest,
  isWorkerMessage,
  type WorkerMessage,
  type WorkerRequest,
} from './protocol.ts'

const NOTIFICATIONS = ['log', 'opening', 'dying', 'protected', 'restored'] as const
/** A message that answers no request. */
export type WorkerNotification = Extract<WorkerMessage, { type: (typeof NOTIFICATIONS)[number] }>

export interface WorkerChannel {
  /** Resolves with the answer; never, if the worker dies before it answers. */
  ask<T extends WorkerRequest['type']>(
    request: Extract<WorkerRequest, { type: T }>,
  ): Promise<Answer<AnswerOf[T]>>
  /** Asks the worker to end; it does not answer. */
  notify(type: EndRequest['type']): void
  close(): void
}

/** Speaks the terminal protocol on a socket: one JSON object per line, answers by the id of their request. */
export function openChannel(
  socket: Duplex,
  onNotification: (notification: WorkerNotification) => void,
): WorkerChannel {
  const pending = new Map<number, (message: WorkerMessage) => void>()
  let lastId = 0
  onMessage(socket, (message) => {
    if (isNotification(message)) return onNotification(message)
    pending.get(message.id)?.(message)
    pending.delete(message.id)
  })
  return {
    ask<T extends WorkerRequest['type']>(request: Extract<WorkerRequest, { type: T }>) {
      const id = ++lastId
      return new Promise<Answer<AnswerOf[T]>>((resolve) => {
        // The protocol pairs the answer's type with the request's; the id pairs the messages.
        pending.set(id, resolve as (message: WorkerMessage) => void)
        socket.write(`${JSON.stringify({ id, ...request })}\n`)
      })
    },
    notify: (type) => void socket.write(`${JSON.stringify({ id: 0, type })}\n`),
    close: () => void socket.destroy(),
  }
}

const isNotification = (message: WorkerMessage): message is WorkerNotification =>
  NOTIFICATIONS.some((type) => type === message.type)

function onMessage(socket: Duplex, listener: (message: WorkerMessage) => void): void {
  // A worker that dies with unread input resets the socket; readline emits that error as its own.
  socket.on('error', () => {})
  createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })
    .on('error', () => {})
    .on('line', (line) => {
      const message = parseJson(line)
      if (isWorkerMessage(message)) listener(message)
    })
}

/** The fields of a message that the terminal shows. */
const SHOWN = ['shown', 'error', 'text', 'notes', 'reason']

/** A candidate that cannot be shown as it is, such as the name of a file, is none. */
function makeTextPrintable(key: string, value: unknown): unknown {
  if (key === 'candidates' && Array.isArray(value))
    return value.filter((each) => each === printable(`${each}`))
  if (!SHOWN.includes(key)) return value
  if (Array.isArray(value)) return value.map((each) => makeTextPrintable(key, each))
  if (typeof value !== 'string') return value
  return printableInColours(value)
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line, makeTextPrintable)
  } catch {
    return undefined
  }
}
