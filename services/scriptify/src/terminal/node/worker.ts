// Evaluates what the terminal sends on fd 3 and reports on the same socket. Of a value of the session it asks `types` of
// node:util, which run no code: `instanceof` and `in` call the traps of a proxy, which may throw.
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { types } from 'node:util'
import { importModule, useProjectSyntax } from '../../classes/node/project-syntax.ts'
import type { EndRequest, WorkerMessage, WorkerRequest } from '../worker/protocol.ts'
import { completionsOf } from './completion.ts'
import { createEvaluator, type Evaluation, ExitCalled } from './evaluator.ts'
import { listVariables } from './list-variables.ts'
import { isIncomplete } from './parse-code.ts'
import { type PreparedCode, prepareCode } from './prepare-code.ts'
import { describeError, render } from './render.ts'
import { defineGlobal, prepareGlobals } from './session-globals.ts'
import { readSnapshot, takeSnapshot } from './snapshot.ts'
import { hideOwnFrames } from './stack-frames.ts'

type Numbered = (WorkerRequest | EndRequest) & { id: number }
type Unnumbered<T> = T extends unknown ? Omit<T, 'id'> : never
type Message = Unnumbered<WorkerMessage>
type Done = Extract<Message, { type: 'done' }>

/** The time that the prompt waits until the server has ended the query of an abandoned statement. */
const ABANDON_MS = 3000
const socket = new Socket({ fd: 3, readable: true, writable: true })
const realExit = process.exit.bind(process)
const evaluator = createEvaluator()
const { userNames, userVariables } = prepareGlobals(evaluator)
let sentSnapshot = ''
let colors = false

// Code at the prompt sees no file of the worker, as in `node`.
process.argv.splice(1)
hideOwnFrames()
keepAlive()
createInterface({ input: socket }).on('line', (line) => void answer(JSON.parse(line) as Numbered))
socket.on('close', () => realExit(0))

async function answer(request: Numbered): Promise<void> {
  // Nothing but the session's code may be terminated: without an answer the terminal would wait for ever.
  evaluator.refuseInterrupts()
  const message = await toAnswer(request)
  if (message === undefined) return realExit(0)
  send(request.id, message)
  evaluator.allowInterrupts()
}

/** Undefined for `bye`. */
function toAnswer(request: Numbered): Message | Promise<Message> | undefined {
  if (request.type === 'start') return start(request)
  return request.type === 'eval' ? evaluate(request) : inspect(request)
}

/** Answers what runs none of the session's code; undefined for `bye`. */
function inspect(request: Exclude<Numbered, { type: 'start' | 'eval' }>): Message | undefined {
  switch (request.type) {
    case 'check':
      return { type: 'checked', incomplete: isIncomplete(request.code) }
    case 'complete':
      return { type: 'completions', ...completionsOf(request.line, evaluator) }
    case 'list':
      return { type: 'listed', text: listVariables(userVariables()) }
    case 'snapshot':
      return { type: 'snapshot', snapshot: takeSnapshot(userVariables()), names: userNames() }
    default:
      return undefined
  }
}

async function start(request: Extract<Numbered, { type: 'start' }>): Promise<Message> {
  const { autoloader, preload, declarations, snapshot } = request
  colors = request.colors
  await useProjectSyntax(process.cwd())
  const notes = [
    ...(await load('autoloader', autoloader)),
    ...(await load('preload', preload, (exported) => {
      for (const [name, value] of Object.entries(exported)) defineGlobal(name, value)
    })),
    ...(await redeclare(declarations)),
  ]
  for (const [name, value] of snapshot === undefined ? [] : readSnapshot(snapshot)) defineGlobal(name, value)
  const { pid, versions } = process
  return {
    type: 'ready',
    pid,
    version: versions.node,
    forks: false,
    notes,
    names: userNames(),
  }
}

/** Imports a file, if there is one; gives the note about its failure. */
async function load(
  step: 'autoloader' | 'preload',
  file: string | undefined,
  use: (exported: Record<string, unknown>) => void = () => undefined,
): Promise<string[]> {
  if (file === undefined) return []
  send(0, { type: 'opening', step })
  try {
    use(await importModule(pathToFileURL(file).href))
    return []
  } catch (error) {
    return [describeError(error)]
  }
}

async function redeclare(declarations: string[]): Promise<string[]> {
  const notes: string[] = []
  for (const declaration of declarations) {
    send(0, { type: 'opening', step: 'declaration' })
    const evaluation = await evaluator.evaluate(prepareCode(declaration).code)
    if (evaluation.status === 'thrown') notes.push(describeError(evaluation.error))
  }
  return notes
}

async function evaluate({ code }: Extract<Numbered, { type: 'eval' }>): Promise<Done> {
  let prepared: PreparedCode
  try {
    prepared = prepareCode(code)
  } catch (error) {
    return { type: 'done', ok: false, error: describeSyntaxError(error, code) }
  }
  const evaluation = await evaluator.evaluate(prepared.code)
  const memory = remember(prepared)
  if (evaluation.status === 'interrupted' || evaluation.status === 'exited') await abandonQueries()
  return { type: 'done', ...toResult(evaluation, prepared), ...memory }
}

function describeSyntaxError(error: unknown, code: string): string {
  if (isIncomplete(code)) return 'SyntaxError: Unexpected end of input'
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

function toResult(evaluation: Evaluation, { shows }: PreparedCode): Omit<Done, 'type'> {
  switch (evaluation.status) {
    case 'value':
      return { ok: true, shown: show(evaluation.value, shows) }
    case 'thrown':
      return { ok: false, error: describeError(evaluation.error) }
    case 'exited':
      return { ok: false, error: new ExitCalled(evaluation.code).message }
    case 'interrupted':
      return { ok: false, error: 'Interrupted', interrupted: true }
  }
}

function show(value: unknown, shows: PreparedCode['shows']): string | undefined {
  if (shows === 'nothing' || (shows === 'non-null' && value == null)) return undefined
  defineGlobal('_', value)
  return render(value, { colors })
}

/** The memory that a new worker needs, with the snapshot only if it has changed. */
function remember({ declarations }: PreparedCode) {
  const snapshot = takeSnapshot(userVariables())
  const isNew = snapshot !== sentSnapshot
  sentSnapshot = snapshot
  return { declarations, names: userNames(), ...(isNew && { snapshot }) }
}

/** Ends the query that the abandoned statement waits for: its answer must not appear at a later prompt. */
async function abandonQueries(): Promise<void> {
  const executor: unknown = Reflect.get(globalThis, 'executor')
  if (typeof executor !== 'object' || executor === null || !('reconnect' in executor)) return
  if (typeof executor.reconnect !== 'function') return
  try {
    const isEnded = Promise.resolve(executor.reconnect()).then(() => true)
    if (!(await Promise.race([isEnded, sleep(ABANDON_MS, false)])))
      throw new Error(`no answer within ${ABANDON_MS} ms`)
  } catch (error) {
    logFailure('The server may still run the query', error)
  }
}

/** Neither process.exit(), nor a failure that nothing handles, nor Ctrl-C ends the process. */
function keepAlive(): void {
  process.exit = evaluator.exit
  // Ctrl-C reaches every process of the terminal; the terminal decides what it means here.
  process.on('SIGINT', () => {})
  process.on('uncaughtException', (error) => logFailure('Uncaught exception', error))
  process.on('unhandledRejection', (error) => logFailure('Unhandled rejection', error))
}

function logFailure(kind: string, error: unknown): void {
  const isExit = types.isNativeError(error) && error instanceof ExitCalled
  const text = isExit ? error.message : `${kind}: ${describeError(error)}`
  send(0, { type: 'log', text })
}

function send(id: number, message: Message): void {
  socket.write(`${JSON.stringify({ id, ...message })}\n`)
}
