import { isRecord } from '../../classes/record.ts'

/** What a worker remembers of a statement, for the one that may replace it. */
interface Memory {
  /** The source of imports and declarations, for a worker that starts anew. */
  declarations?: string[] | undefined
  /** The variables that can be carried over, in the worker's own format. */
  snapshot?: string | undefined
  /** Every variable there is, carried over or not. */
  names?: string[] | undefined
}

export interface Statement {
  code: string
  line: number
}

/** What a worker runs before it is ready; each step may end it. */
const OPENING_STEPS = ['autoloader', 'preload', 'declaration', 'variables'] as const
export type OpeningStep = (typeof OPENING_STEPS)[number]

interface Ready {
  type: 'ready'
  pid: number
  version: string
  forks: boolean
  notes: string[]
  names: string[]
  /** Whether a step of the opening threw; its error is among the notes. */
  failed: boolean
  /** Whether the preload's executor rolls back what it writes. */
  sandboxed: boolean
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
  /** Whether code that no statement waits for has failed. */
  isFailure?: boolean | undefined
}

/** What a worker sends: the answer to the request with the same id, or news (id 0). */
export type WorkerMessage = { id: number } & (
  | Ready
  | Done
  | Log
  | { type: 'checked'; incomplete: boolean }
  | { type: 'split'; statements: Statement[] }
  | { type: 'completions'; word: string; candidates: string[] }
  | { type: 'listed'; text: string }
  | { type: 'described'; text: string }
  | { type: 'snapshot'; snapshot: string }
  | { type: 'opening'; step: OpeningStep }
  | { type: 'dying'; reason: string; snapshot?: string | undefined }
  | { type: 'protected'; pid: number }
  | { type: 'restored'; pid: number; notes: string[] }
  | { type: 'exiting'; code: number }
  | { type: 'unknown' }
)
export type Answer<T extends WorkerMessage['type']> = Extract<WorkerMessage, { type: T }>

type Check = (value: unknown) => boolean
type Fields<Message> = { [Name in Exclude<keyof Message, 'id' | 'type'>]-?: Check }

const isString: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => typeof value === 'number'
const isBoolean: Check = (value) => typeof value === 'boolean'
const isStrings: Check = (value) => Array.isArray(value) && value.every(isString)
const isStep: Check = (value) => OPENING_STEPS.some((step) => step === value)
const isStatement: Check = (value) => isRecord(value) && isString(value.code) && isNumber(value.line)
const isStatements: Check = (value) => Array.isArray(value) && value.every(isStatement)
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

/** Checked by hand: the terminal shows its prompt before a library for it would be loaded. */
const FIELDS: { [Type in WorkerMessage['type']]: Fields<Answer<Type>> } = {
  ready: {
    pid: isNumber,
    version: isString,
    forks: isBoolean,
    notes: isStrings,
    names: isStrings,
    failed: isBoolean,
    sandboxed: isBoolean,
  },
  done: {
    ok: isBoolean,
    shown: (value) => value == null || isString(value),
    error: optional(isString),
    interrupted: optional(isBoolean),
    declarations: optional(isStrings),
    snapshot: optional(isString),
    names: optional(isStrings),
  },
  log: { text: isString, isFailure: optional(isBoolean) },
  checked: { incomplete: isBoolean },
  split: { statements: isStatements },
  completions: { word: isString, candidates: isStrings },
  listed: { text: isString },
  described: { text: isString },
  snapshot: { snapshot: isString },
  opening: { step: isStep },
  dying: { reason: isString, snapshot: optional(isString) },
  protected: { pid: isNumber },
  restored: { pid: isNumber, notes: isStrings },
  exiting: { code: isNumber },
  unknown: {},
}

/** What the session's code may have written to the socket is not a message. */
export function isWorkerMessage(value: unknown): value is WorkerMessage {
  if (!isRecord(value) || !isNumber(value.id) || typeof value.type !== 'string') return false
  if (!Object.hasOwn(FIELDS, value.type)) return false
  const fields: Record<string, Check> = FIELDS[value.type as WorkerMessage['type']]
  return Object.entries(fields).every(([name, check]) => check(value[name]))
}

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
