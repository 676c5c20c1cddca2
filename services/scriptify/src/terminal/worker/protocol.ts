import { isRecord } from '../../io/json-object.ts'

/** The part of a statement that a worker remembers, for the one that may replace it. */
interface Memory {
  /** The source of imports and declarations, for a worker that replaces this one. */
  declarations?: string[] | undefined
  /** The variables that can be carried over, in the worker's own format. */
  snapshot?: string | undefined
  /** Every variable there is, carried over or not. */
  names?: string[] | undefined
}

/** The steps that a worker runs before it is ready; each may end it. */
export type OpeningStep = 'autoloader' | 'preload' | 'declaration' | 'variables'

interface Ready {
  type: 'ready'
  pid: number
  version: string
  forks: boolean
  notes: string[]
  names: string[]
}

interface Done extends Memory {
  type: 'done'
  ok: boolean
  shown?: string | null | undefined
  error?: string | undefined
  interrupted?: boolean | undefined
}

interface Log {
  type: 'log'
  text: string
}

/** A message of a worker: the answer to the request with the same id, or a notification (id 0). */
export type WorkerMessage = { id: number } & (
  | Ready
  | Done
  | Log
  | { type: 'checked'; incomplete: boolean }
  | { type: 'completions'; word: string; candidates: string[] }
  | { type: 'listed'; text: string }
  | { type: 'snapshot'; snapshot: string; names: string[] }
  | { type: 'opening'; step: OpeningStep }
  | { type: 'dying'; reason: string }
  | { type: 'protected'; pid: number }
  | { type: 'restored'; pid: number; notes: string[] }
)
export type Answer<T extends WorkerMessage['type']> = Extract<WorkerMessage, { type: T }>

/** Other data on the socket is not a message: the session's code may have written it. */
export const isWorkerMessage = (value: unknown): value is WorkerMessage =>
  isRecord(value) && typeof value.id === 'number' && typeof value.type === 'string'

/** A message of the terminal; `AnswerOf` pairs each request with its answer. */
export type WorkerRequest =
  | {
      type: 'start'
      autoloader: string | undefined
      preload: string | undefined
      declarations: string[]
      snapshot: string | undefined
      /** True where values are written in colours. */
      colors: boolean
    }
  | { type: 'eval'; code: string }
  | { type: 'check'; code: string }
  | { type: 'complete'; line: string }
  | { type: 'list' }
  | { type: 'snapshot' }

/** Asks the worker to end; it does not answer. */
export interface EndRequest {
  type: 'bye'
}

export interface AnswerOf {
  start: 'ready'
  eval: 'done'
  check: 'checked'
  complete: 'completions'
  list: 'listed'
  snapshot: 'snapshot'
}
