import { styleText } from 'node:util'
import { CliError, EXIT } from '../../io/cli-error.ts'
import type { TerminalBackend } from '../backend.ts'
import { type CrashReport, WorkerDied, type WorkerNews } from './channel.ts'
import { startWorker, type WorkerProcess } from './process.ts'
import type { Answer, AnswerOf, OpeningStep, WorkerRequest } from './protocol.ts'
import type { SessionMemory } from './session-memory.ts'

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

/** What a worker that continues a session has to say: the variables that it lacks, and the notes of its start. */
export const notesOf = ({ lost, notes }: Restarted): string[] => [
  ...(lost.length > 0 ? [`Could not be restored: ${lost.join(', ')}`] : []),
  ...notes,
]

type Restarted = Opened & { lost: string[] }

/** Requests that run none of the session's code, so that a new worker can answer them as well. */
type Repeatable = 'check' | 'split' | 'complete' | 'list' | 'snapshot'

/** The worker of a session, replaced when it dies. */
export interface SupervisedWorker {
  /**
   * Starts a worker, with what the session remembers; statements and questions wait for it. Rejects with a CliError (1) if
   * its process dies before it is ready.
   */
  start(): Promise<Restarted>
  /** Asks the worker, and the next one if it dies. */
  ask<T extends Repeatable>(request: Extract<WorkerRequest, { type: T }>): Promise<Answer<AnswerOf[T]>>
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
  close(): Promise<void>
}

/**
 * The states of a worker, with what follows in each
 *
 *            | when its process dies                                 | at Ctrl-C       | at Ctrl-C again
 *   starting | the start fails, or begins again: see `askToStart`    | nothing         | it is killed, after START_PATIENCE_MS
 *   ready    | its copy has taken over (php), or a new one is started | it is told      | it is killed
 *   running  | the statement fails, and the rest is as in `ready`    | it is told      | it is killed
 *   ending   | the script has ended, with this exit status           | it is told      | it is killed
 *   closed   | nothing: this was asked for                           | nothing         | nothing
 *
 * start() leads to `starting`, its success to `ready`, evaluate() to `running` and its answer back, finish() and the exit()
 * of a script to `ending`, close() to `closed`.
 */
type State = 'starting' | 'ready' | 'running' | 'ending' | 'closed'

/** How long Ctrl-C waits for a start: pressed again and again, it would kill each new process. */
const START_PATIENCE_MS = 5000

/** Supervises the worker of a session, which `start` starts. */
export function superviseWorker(options: SessionOptions, memory: SessionMemory): SupervisedWorker {
  const { notify } = options
  const ended = Promise.withResolvers<number | undefined>()
  let state: State = 'starting'
  let worker: WorkerProcess | undefined
  /** Settles when the worker is ready. */
  let started: Promise<unknown> = Promise.resolve()
  let startedAt = 0
  /** What the worker that starts does at present. */
  let step: OpeningStep | undefined

  const start = () => {
    const ready = startUntilReady()
    started = ready
    // A statement that waits for it learns of the failure.
    ready.catch(() => {})
    return ready
  }
  const startUntilReady = async (): Promise<Restarted> => {
    for (;;) {
      state = 'starting'
      startedAt = performance.now()
      step = undefined
      worker = launch(options, { onNews, onDeath })
      const ready = await askToStart(worker, options, {
        request: startRequest(options, memory),
        step: () => step,
        isWanted: () => isIn('starting'),
      })
      if (ready === undefined) continue
      if (isIn('starting')) state = 'ready'
      return { ...ready, lost: memory.started(ready.names) }
    }
  }
  const recover = async () => {
    const started = await start()
    notify('The session was started again with its imports, declarations and plain variables')
    for (const note of notesOf(started)) notify(note)
  }
  const onNews = (news: Extract<WorkerNews, { type: 'log' | 'opening' | 'exiting' }>) => {
    if (news.type === 'log') notify(news.text, { isFailure: news.isFailure === true })
    if (news.type === 'opening') step = news.step
    if (news.type === 'exiting') state = 'ending'
  }
  const onDeath = ({ restored, snapshot, status }: CrashReport) => {
    memory.setSnapshot(snapshot)
    if (state === 'ending') return ended.resolve(status)
    if (state === 'ready' && restored === undefined)
      return void recover().catch((error: Error) => notify(error.message))
    if (state === 'ready') notify('The session was restored after its process died')
    if (state !== 'starting') for (const note of restored ?? []) notify(note)
  }
  const isIn = (expected: State) => state === expected
  const whenReady = async () => {
    await started
    return getWorker()
  }
  const getWorker = () => {
    if (worker === undefined) throw new Error('The session has not started')
    return worker
  }
  return {
    start,
    async ask(request) {
      const asked = await whenReady()
      try {
        return await asked.ask(request)
      } catch (error) {
        if (!(error instanceof WorkerDied) || isIn('closed')) throw error
        return (await whenReady()).ask(request)
      }
    },
    async describe(request) {
      const asked = await whenReady()
      try {
        return (await asked.ask(request)).text
      } catch (error) {
        // Another process would load the same class.
        if (error instanceof WorkerDied && !isIn('closed')) return undefined
        throw error
      }
    },
    async evaluate(code, line) {
      const asked = await whenReady()
      state = 'running'
      try {
        const done = await asked.ask({ type: 'eval', code, line })
        if (isIn('running')) state = 'ready'
        return done
      } catch (error) {
        // A closed session starts no new process: nothing would end it.
        if (!(error instanceof WorkerDied) || error.crash === undefined || !isIn('running')) throw error
        const { reason, restored } = error.crash
        if (restored === undefined) await recover()
        else state = 'ready'
        return { cause: reason }
      }
    },
    interrupt() {
      if (!isIn('closed') && !isIn('starting')) worker?.interrupt()
    },
    kill() {
      const isPatient = state === 'starting' && performance.now() - startedAt < START_PATIENCE_MS
      if (!isIn('closed') && !isPatient) worker?.kill()
    },
    finish() {
      state = 'ending'
      getWorker().finish()
    },
    ended: ended.promise,
    async close() {
      state = 'closed'
      await getWorker().close()
    },
  }
}

interface Start {
  request: Extract<WorkerRequest, { type: 'start' }>
  /** What the worker does at present; undefined before its first step. */
  step(): OpeningStep | undefined
  /** Whether the session still waits for the worker. */
  isWanted(): boolean
}

/** Undefined for a worker that Ctrl-C has ended before it could catch the signal. */
async function askToStart(
  worker: WorkerProcess,
  options: SessionOptions,
  { request, step, isWanted }: Start,
): Promise<Answer<'ready'> | undefined> {
  const { backend, signal } = options
  signal.addEventListener('abort', worker.kill)
  try {
    return await worker.ask(request)
  } catch (error) {
    if (!(error instanceof WorkerDied)) throw error
    await worker.close()
    const { crash } = error
    const isEarly = step() === undefined
    if (crash?.signal === 'SIGINT' && isEarly && !signal.aborted && isWanted()) return undefined
    if (isEarly) await backend.describeCrash?.()
    // Not started again: another process would fail the same way.
    throw new CliError(`${describeFailure(step(), options)} (${crash?.reason})`, EXIT.failed)
  } finally {
    signal.removeEventListener('abort', worker.kill)
  }
}

const launch = (
  { backend, rootdir, env, stdin }: SessionOptions,
  events: Pick<Parameters<typeof startWorker>[0], 'onNews' | 'onDeath'>,
): WorkerProcess => startWorker({ command: backend.worker, cwd: rootdir, env, stdin, ...events })

const startRequest = (
  { backend, preload, isScript }: SessionOptions,
  memory: SessionMemory,
): Extract<WorkerRequest, { type: 'start' }> => ({
  type: 'start',
  autoloader: backend.autoloader,
  preload,
  isScript,
  colors: hasColors(process.stdout),
  ...memory.carriedOver(),
})

/** Whether a stream is written in colours, by Node's rule: FORCE_COLOR, else NO_COLOR, else a terminal other than TERM=dumb. */
const hasColors = (stream: NodeJS.WriteStream): boolean => styleText('red', ' ', { stream }) !== ' '

function describeFailure(
  step: OpeningStep | undefined,
  { backend, preload }: Pick<SessionOptions, 'backend' | 'preload'>,
): string {
  switch (step) {
    case 'autoloader':
      return `The autoloader ${backend.autoloader} ended the process`
    case 'preload':
      return `The preload ${preload} ended the process`
    case 'declaration':
      return 'A declaration that was to be restored ended the process'
    case 'variables':
      return 'A variable that was to be restored ended the process'
    default:
      return 'The process ended during start-up'
  }
}
