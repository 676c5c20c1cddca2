import { CliError, EXIT } from '../../io/cli-error.ts'
import type { TerminalBackend } from '../front/backend.ts'
import { hasColors } from '../front/coloured-text.ts'
import type { WorkerNotification } from './channel.ts'
import { type Crash, startWorker, WorkerDied, type WorkerProcess } from './process.ts'
import type { Answer, AnswerOf, OpeningStep, WorkerRequest } from './protocol.ts'
import type { SessionMemory } from './session-memory.ts'

export interface SessionSetup {
  backend: TerminalBackend
  /** The project's folder, where a session runs. */
  rootdir: string
  /** The folder where a script runs: below that of the project, perhaps. */
  cwd: string
  env: NodeJS.ProcessEnv
  preload: string | undefined
}

export interface TerminalSessionOptions extends SessionSetup {
  /** Ends a start that is in progress, with its process; a session that is open ignores it. */
  signal: AbortSignal
  /** Receives everything that is not the answer to a statement. */
  notify(text: string): void
}

/** The report of a worker that is ready. */
export type Opened = Pick<Answer<'ready'>, 'version' | 'forks' | 'notes' | 'names'>

/** The notes of a worker that continues a session: the variables that it lacks, and the notes of its start. */
export const notesOf = ({ lost, notes }: Restarted): string[] => [
  ...(lost.length > 0 ? [`Could not be restored: ${lost.join(', ')}`] : []),
  ...notes,
]

type Restarted = Opened & { lost: string[] }

/** Requests that evaluate no statement, so that a new worker can answer them as well. */
type Repeatable = 'check' | 'complete' | 'list' | 'snapshot'

/** The worker of a session, replaced when it dies. */
export interface SupervisedWorker {
  /**
   * Starts a worker, with what the session remembers; statements and questions wait for it. Rejects with a CliError (1) if
   * its process dies before it is ready.
   */
  start(): Promise<Restarted>
  /** Asks the worker, and the next one if it dies. */
  ask<T extends Repeatable>(request: Extract<WorkerRequest, { type: T }>): Promise<Answer<AnswerOf[T]>>
  /** Evaluates a statement; gives the cause, after recovery, if the statement ended the process. */
  evaluate(code: string): Promise<Answer<'done'> | { cause: string }>
  interrupt(): void
  kill(): void
  /** Ends the worker; another may be started. */
  close(): Promise<void>
}

/** The time before Ctrl-C may kill a start: pressed again and again, it would kill each new process. */
const START_PATIENCE_MS = 5000

/**
 * Supervises the worker of a session, which `start` starts: follows each of its processes to its end, and replaces it by its
 * copy, or by another process with what the session remembers.
 *
 * While an entry is handled, `Interrupter` turns the first Ctrl-C into an `interrupt`, and each later one into a `kill`. At
 * the prompt Ctrl-C discards the typed line (prompt.ts). Before the first prompt it ends the terminal with 130
 * (end-signals.ts).
 */
export function superviseWorker(options: TerminalSessionOptions, memory: SessionMemory): SupervisedWorker {
  const { notify } = options
  /** The process that evaluates, or the last one. */
  let worker: WorkerProcess | undefined
  /** Settles when the worker is ready. */
  let started: Promise<Restarted> | undefined
  /** Settles when a worker is replaced, and the user knows what the new one lacks. */
  let replaced = Promise.resolve()
  /** The time at which the start that is in progress began. */
  let startedAt: number | undefined
  /** The present step of the start. */
  let step: OpeningStep | undefined
  let isEvaluating = false

  const start = () => {
    started = launch().finally(() => {
      startedAt = undefined
    })
    // Each caller that waits for the worker gets the error.
    started.catch(() => {})
    return started
  }
  const launch = async (): Promise<Restarted> => {
    for (;;) {
      startedAt = performance.now()
      step = undefined
      const { backend, rootdir: cwd, env, signal } = options
      const launched = startWorker({ command: backend.worker, cwd, env, onNotification })
      worker = launched
      try {
        const ready = await launched.ask(startRequest(options, memory))
        follow(launched)
        return { ...ready, lost: memory.started(ready.names) }
      } catch (error) {
        if (!(error instanceof WorkerDied)) throw error
        await launched.close()
        // Ctrl-C has ended it before it could catch the signal.
        if (step === undefined && error.crash?.signal === 'SIGINT' && !signal.aborted) continue
        if (step === undefined) await backend.describeCrash?.()
        // The worker is not started again: another process would fail the same way.
        throw new CliError(`${describeFailure(step, options)} (${error.crash?.reason})`, EXIT.failed)
      }
    }
  }
  const follow = (followed: WorkerProcess) => {
    replaced = followed.ended.then(async (crash) => {
      if (crash === undefined) return
      if (isEvaluating) return replace(crash)
      if (crash.successor !== undefined) notify('The session was restored after its process died')
      // No statement waits for it.
      await replace(crash).catch((error: Error) => notify(error.message))
    })
    // Who waits for a statement gets the error.
    replaced.catch(() => {})
  }
  const replace = async ({ successor }: Crash) => {
    if (successor !== undefined) {
      worker = successor.worker
      for (const note of successor.notes) notify(note)
      return follow(successor.worker)
    }
    const opened = await start()
    notify('The session was started again, with its imports and declarations')
    for (const note of notesOf(opened)) notify(note)
  }
  const onNotification = (notification: Extract<WorkerNotification, { type: 'log' | 'opening' }>) => {
    if (notification.type === 'log') notify(notification.text)
    else step = notification.step
  }
  const whenReady = async (): Promise<WorkerProcess> => {
    await started
    if (worker === undefined) throw new Error('The session has not started')
    return worker
  }
  options.signal.addEventListener('abort', () => {
    if (startedAt !== undefined) worker?.kill()
  })
  return {
    start,
    async ask(request) {
      const [asked, untilReplaced] = [await whenReady(), replaced]
      try {
        return await asked.ask(request)
      } catch (error) {
        if (!hasCrashed(error)) throw error
        await untilReplaced
        return (await whenReady()).ask(request)
      }
    },
    async evaluate(code) {
      const [asked, untilReplaced] = [await whenReady(), replaced]
      isEvaluating = true
      try {
        return await asked.ask({ type: 'eval', code })
      } catch (error) {
        if (!hasCrashed(error)) throw error
        await untilReplaced
        return { cause: error.crash.reason }
      } finally {
        isEvaluating = false
      }
    },
    interrupt() {
      if (startedAt === undefined) worker?.interrupt()
    },
    kill() {
      if (startedAt === undefined || performance.now() - startedAt > START_PATIENCE_MS) worker?.kill()
    },
    close: async () => worker?.close(),
  }
}

/** True where an error tells that the worker died, and was not closed. */
const hasCrashed = (error: unknown): error is WorkerDied & { crash: Crash } =>
  error instanceof WorkerDied && error.crash !== undefined

const startRequest = (
  { backend, preload }: TerminalSessionOptions,
  memory: SessionMemory,
): Extract<WorkerRequest, { type: 'start' }> => ({
  type: 'start',
  autoloader: backend.autoloader,
  preload,
  colors: hasColors(process.stdout),
  ...memory.carriedOver(),
})

function describeFailure(
  step: OpeningStep | undefined,
  { backend, preload }: Pick<TerminalSessionOptions, 'backend' | 'preload'>,
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
