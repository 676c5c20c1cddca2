// Evaluates what the front-end sends on fd 3, and reports on the same socket.
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import type { WorkerMessage, WorkerRequest } from '../../terminal-protocol.ts'
import { completionsOf } from './completion.ts'
import { createEvaluator, ExitCalled } from './evaluator.ts'
import { describeError, render } from './render.ts'
import { readSnapshot, takeSnapshot } from './snapshot.ts'
import { IMPORT, isIncomplete, META, type Prepared, prepare, splitStatements } from './typed-code.ts'

type Numbered = WorkerRequest & { id: number }
type Unnumbered<T> = T extends unknown ? Omit<T, 'id'> : never

const socket = new Socket({ fd: 3, readable: true, writable: true })
const here = pathToFileURL(join(process.cwd(), '[terminal]')).href
const colors = process.stdout.isTTY === true && !process.env.NO_COLOR
const realExit = process.exit.bind(process)
const evaluator = createEvaluator()
let ownNames = new Set<string>()
let sentSnapshot = ''

const send = (id: number, message: Unnumbered<WorkerMessage>) => {
  socket.write(`${JSON.stringify({ id, ...message })}\n`)
}

const importFromRoot = (specifier: string, options?: ImportCallOptions) =>
  import(import.meta.resolve(specifier, here), options)

prepareGlobals()
createInterface({ input: socket }).on('line', (line) => void answer(JSON.parse(line) as Numbered))
socket.on('close', () => realExit(0))

async function answer(request: Numbered): Promise<void> {
  const { id } = request
  switch (request.type) {
    case 'start':
      return start(request)
    case 'eval':
      return evaluate(request)
    case 'check':
      return send(id, { type: 'checked', incomplete: isIncomplete(request.code) })
    case 'split':
      return send(id, { type: 'split', statements: splitStatements(request.code) ?? byLines(request.code) })
    case 'complete':
      return send(id, { type: 'completions', ...completionsOf(request.line, evaluator) })
    case 'list':
      return send(id, { type: 'listed', text: listVariables() })
    case 'describe':
      return send(id, { type: 'described', text: describe(request.name) })
    case 'snapshot':
      return send(id, { type: 'snapshot', snapshot: takeSnapshot(userVariables()) })
    default:
      return realExit(0)
  }
}

async function start({
  id,
  preload,
  declarations,
  snapshot,
}: Extract<Numbered, { type: 'start' }>): Promise<void> {
  const notes: string[] = []
  if (preload !== undefined) {
    send(0, { type: 'opening', step: 'preload' })
    try {
      const exported = (await import(pathToFileURL(preload).href)) as Record<string, unknown>
      for (const [name, value] of Object.entries(exported)) defineGlobal(name, value)
    } catch (error) {
      notes.push(describeError(error, { colors }))
    }
  }
  for (const declaration of declarations) {
    send(0, { type: 'opening', step: 'declaration' })
    const evaluation = await evaluator.evaluate(prepare(declaration).code, 1)
    if (evaluation.status === 'thrown') notes.push(describeError(evaluation.error, { colors }))
  }
  for (const [name, value] of snapshot === undefined ? [] : readSnapshot(snapshot)) defineGlobal(name, value)
  send(id, {
    type: 'ready',
    pid: process.pid,
    version: process.versions.node,
    forks: false,
    notes,
    names: userNames(),
  })
  // The parser and the type stripper load on first use; better now, while the user reads the banner.
  setImmediate(() => prepare('let warm: number = 1'))
}

async function evaluate({ id, code, line }: Extract<Numbered, { type: 'eval' }>): Promise<void> {
  let prepared: Prepared
  try {
    prepared = prepare(code)
  } catch (error) {
    const name = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    const message = isIncomplete(code) ? 'SyntaxError: Unexpected end of input' : name
    return send(id, { type: 'done', ok: false, error: message })
  }
  const evaluation = await evaluator.evaluate(prepared.code, line)
  const memory = remember(prepared)
  switch (evaluation.status) {
    case 'value':
      return send(id, { type: 'done', ok: true, shown: show(evaluation.value, prepared.shows), ...memory })
    case 'thrown':
      return send(id, {
        type: 'done',
        ok: false,
        error: describeError(evaluation.error, { colors }),
        ...memory,
      })
    case 'exited':
      return send(id, {
        type: 'done',
        ok: false,
        error: `process.exit(${evaluation.code ?? ''}) was called`,
        ...memory,
      })
    case 'interrupted':
      abandonQueries()
      return send(id, { type: 'done', ok: false, error: 'Interrupted', interrupted: true, ...memory })
  }
}

function show(value: unknown, shows: Prepared['shows']): string | undefined {
  if (shows === 'nothing' || (shows === 'non-null' && value == null)) return undefined
  defineGlobal('_', value)
  return render(value, { colors })
}

function remember({ declarations }: Prepared) {
  const snapshot = takeSnapshot(userVariables())
  const isNew = snapshot !== sentSnapshot
  sentSnapshot = snapshot
  return { declarations, names: userNames(), ...(isNew && { snapshot }) }
}

/** The abandoned statement's query may still run: its connection must not answer a later question. */
function abandonQueries(): void {
  const executor: unknown = Reflect.get(globalThis, 'executor')
  if (typeof executor === 'object' && executor !== null && 'reconnect' in executor) {
    if (typeof executor.reconnect === 'function') executor.reconnect()
  }
}

/** A script that does not parse as a whole runs up to the statement that is wrong. */
function byLines(code: string): { code: string; line: number }[] {
  const statements: { code: string; line: number }[] = []
  let current = ''
  let first = 1
  for (const [index, line] of code.split('\n').entries()) {
    if (current === '') first = index + 1
    current += `${line}\n`
    if (current.trim() === '') current = ''
    if (current === '' || isIncomplete(current)) continue
    statements.push({ code: current, line: first })
    current = ''
  }
  return current === '' ? statements : [...statements, { code: current, line: first }]
}

function userNames(): string[] {
  const globals = Object.keys(globalThis).filter((name) => !ownNames.has(name))
  return [...new Set([...evaluator.lexicalNames(), ...globals])].filter((name) => name !== '_')
}

const userVariables = () => evaluator.read(userNames())

function listVariables(): string {
  return [...userVariables()]
    .map(([name, value]) => `${name}  ${Array.isArray(value) ? `array(${value.length})` : typeName(value)}`)
    .join('\n')
}

const typeName = (value: unknown): string =>
  typeof value === 'object' && value !== null ? (value.constructor?.name ?? 'object') : typeof value

function describe(name: string): string {
  const path = name.trim().replace(/\(.*$/, '')
  if (!/^[\w$]+(\.[\w$]+)*$/.test(path)) return `${name} is not a name`
  const value = evaluator.read([path]).get(path)
  if (typeof value === 'function') return Function.prototype.toString.call(value)
  return value === undefined
    ? `${path} is not defined`
    : `${path}: ${typeName(value)}\n${render(value, { colors })}`
}

function defineGlobal(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true })
}

function prepareGlobals(): void {
  Object.defineProperty(globalThis, IMPORT, { value: importFromRoot })
  Object.defineProperty(globalThis, META, {
    value: {
      url: here,
      dirname: process.cwd(),
      resolve: (specifier: string) => import.meta.resolve(specifier, here),
    },
  })
  defineGlobal('require', createRequire(here))
  process.exit = evaluator.exit
  // Ctrl-C reaches every process of the terminal; the front-end decides what it means here.
  process.on('SIGINT', () => {})
  const report = (kind: string) => (error: unknown) => {
    const text = error instanceof ExitCalled ? error.message : `${kind}: ${describeError(error, { colors })}`
    send(0, { type: 'log', text })
  }
  process.on('uncaughtException', report('Uncaught exception'))
  process.on('unhandledRejection', report('Unhandled rejection'))
  ownNames = new Set(Object.getOwnPropertyNames(globalThis))
}
