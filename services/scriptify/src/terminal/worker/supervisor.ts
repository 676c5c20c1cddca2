import { CliError, EXIT } from '../../io/cli-error.ts'
import type { TerminalBackend } from '../backend.ts'
import { hasColors } from '../script.ts'
import { type CrashReport, hasCrashed, WorkerDied, type WorkerNotification } from './channel.ts'
import { startWorker, type WorkerProcess } from './process.ts'
import type { Answer, AnswerOf, OpeningStep, WorkerRequest } from './protocol.ts'
import type { SessionMemory } from './session-memory.ts'
import { type Action, STATES, type State, type WorkerEvent } from './states.ts'

export interface SessionSetup {
  backend: TerminalBackend
  /** The project's folder, where a session runs. */
  rootdir: string
  /** The folder where a script runs: below that of the project, perhaps. */
  cwd: string
  env: NodeJS.ProcessEnv
  preload: string | undefined
}

export interface SessionOptions extends SessionSetup {
  /** Ends a start that is in progress, with its process; a session that is open ignores it. */
  signal: AbortSignal
  /** Receives everything that is not the answer to a statement. */
  notify(text: string): void
}

/** What a worker reports when it is ready. */
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

/** How long a start takes at least before Ctrl-C may kill it. */
const START_PATIENCE_MS = 5000

/** Supervises the worker of a session, which `start` starts, by the table of its states. */
export function superviseWorker(options: SessionOptions, memory: SessionMemory): SupervisedWorker {
  const { notify } = options
  let state: State = 'closed'
  let worker: WorkerProcess | undefined
  /** Settles when the worker is ready. */
  let started: Promise<Restarted> | undefined
  /** Settles when the user knows what a new worker lacks. */
  let recovered = Promise.resolve()
  let startedAt = 0
  /** The present step of the start. */
  let step: OpeningStep | undefined

  const handle = (event: WorkerEvent, crash?: CrashReport) => {
    const [next, action] = STATES[state][event] ?? [state]
    state = next
    if (action !== undefined) actions[action](crash)
  }
  const actions: Record<Action, (crash: CrashReport | undefined) => void> = {
    launch() {
      started = launch()
      // Each caller that waits for the worker gets the error.
      started.catch(() => {})
    },
    reject: (crash) => getWorker().rejectAll(new WorkerDied(crash)),
    resume(crash) {
      for (const note of crash?.restored ?? []) notify(note)
      actions.reject(crash)
    },
    resumeAndNotify(crash) {
      notify('The session was restored after its process died')
      actions.resume(crash)
    },
    recover(crash) {
      actions.reject(crash)
      actions.launch(crash)
      recovered = notifyOfRecovery()
    },
    recoverAndNotify(crash) {
      actions.recover(crash)
      recovered.catch((error: Error) => notify(error.message))
    },
    interrupt: () => getWorker().interrupt(),
    kill: () => getWorker().kill(),
    killIfSlow(crash) {
      if (performance.now() - startedAt > START_PATIENCE_MS) actions.kill(crash)
    },
  }
  const launch = async (): Promise<Restarted> => {
    for (;;) {
      startedAt = performance.now()
      step = undefined
      worker = launchWorker(options, { onNotification, onDeath })
      try {
        const ready = await worker.ask(startRequest(options, memory))
        handle('opened')
        return { ...ready, lost: memory.started(ready.names) }
      } catch (error) {
        if (!(error instanceof WorkerDied)) throw error
        await worker.close()
        // Ctrl-C has ended it before it could catch the signal.
        const isEarlyInterrupt = step === undefined && error.crash?.signal === 'SIGINT'
        if (isEarlyInterrupt && state === 'starting' && !options.signal.aborted) continue
        if (step === undefined) await options.backend.describeCrash?.()
        // The worker is not started again: another process would fail the same way.
        throw new CliError(`${describeFailure(step, options)} (${error.crash?.reason})`, EXIT.failed)
      }
    }
  }
  const notifyOfRecovery = async () => {
    const opened = await whenStarted()
    notify('The session was started again, with its imports and declarations')
    for (const note of notesOf(opened)) notify(note)
  }
  const onNotification = (notification: Extract<WorkerNotification, { type: 'log' | 'opening' }>) => {
    if (notification.type === 'log') notify(notification.text)
    if (notification.type === 'opening') step = notification.step
  }
  const onDeath = (crash: CrashReport) => {
    handle(crash.restored === undefined ? 'died' : 'replaced', crash)
  }
  const whenStarted = () => {
    if (started === undefined) throw new Error('The session has not started')
    return started
  }
  const whenReady = async () => {
    await whenStarted()
    return getWorker()
  }
  const getWorker = () => {
    if (worker === undefined) throw new Error('The session has not started')
    return worker
  }
  options.signal.addEventListener('abort', () => handle('abort'))
  return {
    start() {
      handle('start')
      return whenStarted()
    },
    async ask(request) {
      const asked = await whenReady()
      try {
        return await asked.ask(request)
      } catch (error) {
        if (!hasCrashed(error)) throw error
        return (await whenReady()).ask(request)
      }
    },
    async evaluate(code) {
      const asked = await whenReady()
      handle('evaluate')
      try {
        const done = await asked.ask({ type: 'eval', code })
        handle('answered')
        return done
      } catch (error) {
        if (!hasCrashed(error)) throw error
        await recovered
        return { cause: error.crash.reason }
      }
    },
    interrupt: () => handle('interrupt'),
    kill: () => handle('kill'),
    async close() {
      handle('close')
      await getWorker().close()
    },
  }
}

const launchWorker = (
  { backend, rootdir, env }: SessionOptions,
  events: Pick<Parameters<typeof startWorker>[0], 'onNotification' | 'onDeath'>,
): WorkerProcess => startWorker({ command: backend.worker, cwd: rootdir, env, ...events })

const startRequest = (
  { backend, preload }: SessionOptions,
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
