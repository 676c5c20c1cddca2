import { z } from 'zod'

const Memory = {
  /** The source of imports and declarations, for a worker that starts anew. */
  declarations: z.array(z.string()).optional(),
  /** The variables that can be carried over, in the worker's own format. */
  snapshot: z.string().optional(),
  /** Every variable there is, carried over or not. */
  names: z.array(z.string()).optional(),
}

const Statement = z.object({ code: z.string(), line: z.number() })

/** What a worker runs before it is ready; each step may end it. */
const OpeningStep = z.enum(['autoloader', 'preload', 'declaration', 'variables'])
export type OpeningStep = z.output<typeof OpeningStep>

/** What a worker sends: the answer to the request with the same id, or news (id 0). */
export const WorkerMessage = z.discriminatedUnion('type', [
  z.object({
    id: z.number(),
    type: z.literal('ready'),
    pid: z.number(),
    version: z.string(),
    forks: z.boolean(),
    notes: z.array(z.string()),
    names: z.array(z.string()),
    /** Whether a step of the opening threw; its error is among the notes. */
    failed: z.boolean(),
    /** Whether the preload's executor rolls back what it writes. */
    sandboxed: z.boolean(),
  }),
  z.object({
    id: z.number(),
    type: z.literal('done'),
    ok: z.boolean(),
    shown: z.string().nullish(),
    error: z.string().optional(),
    interrupted: z.boolean().optional(),
    ...Memory,
  }),
  z.object({ id: z.number(), type: z.literal('checked'), incomplete: z.boolean() }),
  z.object({ id: z.number(), type: z.literal('split'), statements: z.array(Statement) }),
  z.object({
    id: z.number(),
    type: z.literal('completions'),
    word: z.string(),
    candidates: z.array(z.string()),
  }),
  z.object({ id: z.number(), type: z.literal('listed'), text: z.string() }),
  z.object({ id: z.number(), type: z.literal('described'), text: z.string() }),
  z.object({ id: z.number(), type: z.literal('snapshot'), snapshot: z.string() }),
  z.object({ id: z.number(), type: z.literal('opening'), step: OpeningStep }),
  z.object({ id: z.number(), type: z.literal('dying'), reason: z.string(), snapshot: z.string().optional() }),
  z.object({ id: z.number(), type: z.literal('protected'), pid: z.number() }),
  z.object({ id: z.number(), type: z.literal('restored'), pid: z.number(), notes: z.array(z.string()) }),
  z.object({ id: z.number(), type: z.literal('exiting'), code: z.number() }),
  z.object({
    id: z.number(),
    type: z.literal('log'),
    text: z.string(),
    /** Whether code that no statement waits for has failed. */
    isFailure: z.boolean().optional(),
  }),
  z.object({ id: z.number(), type: z.literal('unknown') }),
])
export type WorkerMessage = z.output<typeof WorkerMessage>
export type Answer<T extends WorkerMessage['type']> = Extract<WorkerMessage, { type: T }>
export type Statement = z.output<typeof Statement>

/** What the terminal sends; `AnswerOf` pairs each request with its answer. */
export type WorkerRequest =
  | {
      type: 'start'
      autoloader: string | undefined
      preload: string | undefined
      declarations: string[]
      snapshot: string | undefined
      /** In a script, its own exit() ends the process with that code, and the process ends once nothing is pending. */
      isScript: boolean
      /** Whether values are written in colours. */
      colors: boolean
    }
  | { type: 'eval'; code: string; line: number }
  | { type: 'check'; code: string }
  | { type: 'split'; code: string }
  | { type: 'complete'; line: string }
  | { type: 'list' }
  | { type: 'snapshot' }
  | { type: 'describe'; name: string; source: boolean }

/** Asks the worker to end, at once or when nothing is pending; it does not answer. */
export interface Farewell {
  type: 'bye' | 'finish'
}

export interface AnswerOf {
  start: 'ready'
  eval: 'done'
  check: 'checked'
  split: 'split'
  complete: 'completions'
  list: 'listed'
  snapshot: 'snapshot'
  describe: 'described'
}
