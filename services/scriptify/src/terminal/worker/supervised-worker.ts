import { styleText } from 'node:util'
import { CliError } from '../../cli/cli-error.ts'
import { EXIT } from '../../cli/exit-codes.ts'
import type { TerminalBackend } from '../backend.ts'
import type { Answer, AnswerOf, OpeningStep, WorkerRequest } from './protocol.ts'
import type { SessionMemory } from './session-memory.ts'
import { WorkerDied } from './worker-channel.ts'
import { startWorker, type WorkerEvents, type WorkerProcess } from './worker-process.ts'

export interface SessionSetup {
  backend: TerminalBackend
  rootdir: string
  env: NodeJS.ProcessEnv
  stdin: 'inherit' | 'ignore'
  preload: string | undefined
  /** Whether the preload's executor has to roll back what it writes. */
  sandbox: boolean
}

export interface SessionOptions extends SessionSetup {
  /** Whether exit() ends the session, instead of the statement that calls it. */
  isScript: boolean
  /** Ends a start that is in progress, with its process; a session that is open ignores it. */
  signal: AbortSignal
  /** Receives everything that is not the answer to a statement. */
  notify(text: string, news?: { isFailure: boolean }): void
}

/** What a worker reports when it is ready. */
export type Opened = Pick<Answer<'ready'>, 'version' | 'forks' | 'notes' | 'names' | 'failed' | 'sandboxed'>

/** Requests that run none of the session's code, so that a new worker can answer them as well. */
type Repeatable = 'check' | 'complete' | 'list'

/** The worker of a session, replaced when it dies. */
export interface SupervisedWorker {
  /**
   * Starts a worker, with what the session remembers; statements and questions wait for it. Rejects with a CliError (1) if
   * its process dies before it is ready.
   */
  start(): Promise<Opened>
  /** Asks the worker as it is; rejects with WorkerDied. */
  ask: WorkerProcess['ask']
  /** Asks, and asks the next worker if this one dies. */
  askAgain<T extends Repeatable>(request: Extract<WorkerRequest, { type: T }>): Promise<Answer<AnswerOf[T]>>
  /** Documents a name, for which a class may be loaded; undefined if that ended the process. */
  describe(request: Extract<WorkerRequest, { type: 'describe' }>): Promise<string | undefined>
  /** Evaluates a statement; gives the cause, after recovery, if the statement ended the process. */
  evaluate(code: string, line: number): Promise<Answer<'done'> | { cause: string }>
  interrupt(): void
  kill(): void
  /** Lets the worker end by itself, once nothing is pending there. */
  finish(): void
  /** Resolves when the worker has ended by itself, with its exit status; undefined if a signal ended it. */
  ended: Promise<number | undefined>
  /** Ends the worker; another may be started. */
  stop(): Promise<void>
  /** Ends the worker, the last one. */
  close(): Promise<void>
}

/** How long Ctrl-C waits for a start: pressed again and again, it would kill each new process. */
const START_PATIENCE_MS = 5000

interface State {
  worker: WorkerProcess | undefined
  isStarting: boolean
  /** When the last start began. */
  startedAt: number
  isEvaluating: boolean
  isClosed: boolean
  /** What the worker that starts does at present. */
  step: OpeningStep | undefined
  /** Why the last worker died. */
  reason: string | undefined
  /** The signal that ended it. */
  signal: NodeJS.Signals | undefined
  /** The start of a new worker after an idle one died. */
  recovery: Promise<unknown> | undefined
  readonly ended: PromiseWithResolvers<number | undefined>
}

export function superviseWorker(options: SessionOptions, memory: SessionMemory): SupervisedWorker {
  const state: State = {
    worker: undefined,
    isStarting: false,
    startedAt: 0,
    isEvaluating: false,
    isClosed: false,
    step: undefined,
    reason: undefined,
    signal: undefined,
    recovery: undefined,
    ended: Promise.withResolvers<number | undefined>(),
  }
  const start = () => {
    const started = startFresh(state, options, memory, recover)
    state.recovery = started
    // A statement that waits for it learns of the failure.
    started.catch(() => {})
    return started
  }
  const recover = async () => {
    const { lost, notes } = await start()
    options.notify('The session was started anew with its imports, declarations and plain variables')
    if (lost.length > 0) options.notify(`Could not be restored: ${lost.join(', ')}`)
    for (const note of notes) options.notify(note)
  }
  const whenRecovered = async () => {
    await state.recovery
    state.recovery = undefined
    return getWorker(state)
  }
  return {
    start,
    ask: (request) => getWorker(state).ask(request),
    async askAgain(request) {
      const worker = await whenRecovered()
      try {
        return await worker.ask(request)
      } catch (error) {
        if (!(error instanceof WorkerDied) || state.isClosed) throw error
        return (await whenRecovered()).ask(request)
      }
    },
    async describe(request) {
      const worker = await whenRecovered()
      try {
        return (await worker.ask(request)).text
      } catch (error) {
        // Another process would load the same class.
        if (error instanceof WorkerDied && !state.isClosed) return undefined
        throw error
      }
    },
    async evaluate(code, line) {
      const worker = await whenRecovered()
      state.isEvaluating = true
      try {
        return await worker.ask({ type: 'eval', code, line })
      } catch (error) {
        // A closed session starts no new process: nothing would end it.
        if (!(error instanceof WorkerDied) || state.isClosed) throw error
        const { reason } = state
        state.reason = undefined
        if (!error.isRestored) await recover()
        return { cause: reason ?? 'its process died' }
      } finally {
        state.isEvaluating = false
      }
    },
    interrupt() {
      if (!state.isStarting) getWorker(state).interrupt()
    },
    kill() {
      const isPatient = state.isStarting && performance.now() - state.startedAt < START_PATIENCE_MS
      if (!isPatient) getWorker(state).kill()
    },
    finish: () => getWorker(state).finish(),
    ended: state.ended.promise,
    stop: () => getWorker(state).close(),
    async close() {
      state.isClosed = true
      await getWorker(state).close()
    },
  }
}

function getWorker({ worker }: State): WorkerProcess {
  if (worker === undefined) throw new Error('The session has not started')
  return worker
}

async function startFresh(
  state: State,
  options: SessionOptions,
  memory: SessionMemory,
  recover: () => Promise<void>,
): Promise<Opened & { lost: string[] }> {
  state.isStarting = true
  const events = workerEvents(state, options, memory, recover)
  try {
    for (;;) {
      const ready = await startOnce(state, options, memory, events)
      if (ready !== undefined) return { ...ready, lost: memory.started(ready.names) }
    }
  } finally {
    state.isStarting = false
  }
}

/** Undefined for a worker that Ctrl-C has ended before it could catch the signal. */
async function startOnce(
  state: State,
  options: SessionOptions,
  memory: SessionMemory,
  events: WorkerEvents,
): Promise<Answer<'ready'> | undefined> {
  const { backend, rootdir, env, stdin, signal, preload, isScript } = options
  const { autoloader } = backend
  Object.assign(state, {
    startedAt: performance.now(),
    step: undefined,
    reason: undefined,
    signal: undefined,
  })
  const worker = startWorker({ command: backend.worker, cwd: rootdir, env, stdin, events })
  state.worker = worker
  signal.addEventListener('abort', worker.kill)
  try {
    const colors = hasColors(process.stdout)
    return await worker.ask({
      type: 'start',
      autoloader,
      preload,
      isScript,
      colors,
      ...memory.carriedOver(),
    })
  } catch (error) {
    if (!(error instanceof WorkerDied)) throw error
    await worker.close()
    if (state.signal === 'SIGINT' && state.step === undefined && !signal.aborted) return undefined
    if (state.step === undefined) await backend.explainDeath?.()
    // Not started again: another process would fail the same way.
    throw new CliError(
      `${describeStep(state.step, { autoloader, preload })} ended the process (${state.reason ?? 'its process died'})`,
      EXIT.failed,
    )
  } finally {
    signal.removeEventListener('abort', worker.kill)
  }
}

function workerEvents(
  state: State,
  { notify }: SessionOptions,
  memory: SessionMemory,
  recover: () => Promise<void>,
): WorkerEvents {
  return {
    onLog: ({ text, isFailure = false }) => notify(text, { isFailure }),
    onEnded: state.ended.resolve,
    onOpening(step) {
      state.step = step
    },
    onRestored({ reason, notes }) {
      state.reason = reason
      // A worker that was never ready is given up: see askToStart.
      if (state.isStarting) return
      if (!state.isEvaluating) notify('The session was restored after its process died')
      for (const note of notes) notify(note)
    },
    onGone({ reason, signal, snapshot }) {
      state.reason = reason
      state.signal = signal
      memory.setSnapshot(snapshot)
      if (state.isClosed || state.isEvaluating || state.isStarting) return
      state.recovery = recover()
      state.recovery.catch((error: Error) => notify(error.message))
    },
  }
}

/** Whether a stream is written in colours, by Node's rule: FORCE_COLOR, else NO_COLOR, else a terminal other than TERM=dumb. */
const hasColors = (stream: NodeJS.WriteStream): boolean => styleText('red', ' ', { stream }) !== ' '

function describeStep(
  step: OpeningStep | undefined,
  { autoloader, preload }: { autoloader: string | undefined; preload: string | undefined },
): string {
  switch (step) {
    case 'autoloader':
      return `The autoloader ${autoloader}`
    case 'preload':
      return `The preload ${preload}`
    case 'declaration':
      return 'A declaration that was to be carried over'
    case 'variables':
      return 'A variable that was to be carried over'
    default:
      return 'Something before the first line of code'
  }
}
