import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import type { TerminalRuntime } from '../runtimes/terminal-backend.ts'
import type {
  Answer,
  AnswerOf,
  OpeningStep,
  Statement,
  WorkerRequest,
} from '../runtimes/terminal-protocol.ts'
import { startWorker, WorkerDied, type WorkerLink } from './worker-link.ts'

export interface SessionOptions {
  runtime: TerminalRuntime
  cwd: string
  env: NodeJS.ProcessEnv
  stdin: 'inherit' | 'ignore'
  autoloader: string | undefined
  preload: string | undefined
  /** Gives the opening up, with its process; says nothing to a session that is open. */
  signal: AbortSignal
  /** Told about everything that is not the answer to an input. */
  notify(text: string): void
}

export type Outcome =
  | { status: 'shown'; text: string }
  | { status: 'silent' }
  | { status: 'interrupted'; text: string }
  | { status: 'failed'; text: string; isRestored?: true }

export interface Opened {
  version: string
  forks: boolean
  notes: string[]
  /** The variables there are from the start. */
  names: string[]
}

export type Session = Awaited<ReturnType<typeof openSession>>

/** Opens a session: a worker, and what it takes for the session to outlive that worker. */
export async function openSession(options: SessionOptions) {
  let declarations: string[] = []
  let snapshot: string | undefined
  let names: string[] = []
  let preloaded = new Set<string>()
  let worker: WorkerLink
  let lastReason: string | undefined
  let isClosed = false
  let recovery: Promise<unknown> | undefined
  let isEvaluating = false
  let isStarting = false
  let step: OpeningStep | undefined

  const start = async (): Promise<Opened> => {
    isStarting = true
    step = undefined
    lastReason = undefined
    worker = startWorker({
      command: options.runtime.worker,
      cwd: options.cwd,
      env: options.env,
      stdin: options.stdin,
      events: {
        onLog: options.notify,
        onOpening(next) {
          step = next
        },
        onRestored({ reason, notes }) {
          lastReason = reason
          // What never was ready is not gone on with: see below.
          if (isStarting) return
          if (!isEvaluating) options.notify('The session was restored after its process died')
          for (const note of notes) options.notify(note)
        },
        onGone(news) {
          lastReason = news.reason
          snapshot = news.snapshot ?? snapshot
          if (isClosed || isEvaluating || isStarting) return
          recovery = recover()
          recovery.catch((error: Error) => options.notify(error.message))
        },
      },
    })
    const giveUp = () => worker.kill()
    options.signal.addEventListener('abort', giveUp)
    const ready = await askToStart().finally(() => {
      isStarting = false
      options.signal.removeEventListener('abort', giveUp)
    })
    if (declarations.length === 0 && snapshot === undefined) preloaded = new Set(ready.names)
    return ready
  }

  const askToStart = async () => {
    const { autoloader, preload } = options
    try {
      return await worker.ask({ type: 'start', autoloader, preload, declarations, snapshot })
    } catch (error) {
      if (!(error instanceof WorkerDied)) throw error
      // A new one would run into the same.
      await worker.close()
      throw new CliError(
        `${describeStep(options, step)} ended the process (${lastReason ?? 'its process died'})`,
        EXIT.failed,
      )
    }
  }

  /** A new worker gets the imports, the declarations and those variables that could be carried over. */
  const recover = async (): Promise<void> => {
    const before = names.filter((name) => !preloaded.has(name))
    const ready = await start()
    const lost = before.filter((name) => !ready.names.includes(name))
    options.notify('The session was started anew with its imports, declarations and plain variables')
    if (lost.length > 0) options.notify(`Could not be restored: ${lost.join(', ')}`)
    for (const note of ready.notes) options.notify(note)
    names = ready.names
  }

  const died = async (error: WorkerDied): Promise<Outcome> => {
    // Nobody would end a new process any more.
    if (isClosed) throw error
    const reason = lastReason
    lastReason = undefined
    if (!error.isRestored) await recover()
    const cause = reason ?? 'its process died'
    return {
      status: 'failed',
      text: `The statement ended the process (${cause})`,
      isRestored: true,
    }
  }

  const whenAlive = async () => {
    await recovery
    recovery = undefined
  }

  /** For what runs none of the session's code: where a process dies over it, the next one answers. */
  const ask = async <T extends 'check' | 'complete' | 'list' | 'describe'>(
    request: Extract<WorkerRequest, { type: T }>,
  ): Promise<Answer<AnswerOf[T]>> => {
    await whenAlive()
    try {
      return await worker.ask(request)
    } catch (error) {
      if (!(error instanceof WorkerDied) || isClosed) throw error
      await whenAlive()
      return worker.ask(request)
    }
  }

  const opened = await start()
  return {
    opened,

    /** Tells whether the text needs more lines. */
    async isIncomplete(code: string): Promise<boolean> {
      return (await ask({ type: 'check', code })).incomplete
    },

    /** Cuts a script into its top-level statements. */
    async split(code: string): Promise<Statement[]> {
      return (await worker.ask({ type: 'split', code })).statements
    },

    async evaluate(code: string, line = 1): Promise<Outcome> {
      await whenAlive()
      isEvaluating = true
      try {
        const done = await worker.ask({ type: 'eval', code, line })
        declarations = [
          ...declarations.filter((old) => !done.declarations?.includes(old)),
          ...(done.declarations ?? []),
        ]
        snapshot = done.snapshot ?? snapshot
        names = done.names ?? names
        if (done.interrupted) return { status: 'interrupted', text: done.error ?? 'Interrupted' }
        if (!done.ok) return { status: 'failed', text: done.error ?? 'failed' }
        return typeof done.shown === 'string' ? { status: 'shown', text: done.shown } : { status: 'silent' }
      } catch (error) {
        if (!(error instanceof WorkerDied)) throw error
        return await died(error)
      } finally {
        isEvaluating = false
      }
    },

    async complete(line: string): Promise<{ word: string; candidates: string[] }> {
      return ask({ type: 'complete', line })
    },

    async list(): Promise<string> {
      return (await ask({ type: 'list' })).text
    },

    async describe(name: string, source: boolean): Promise<string> {
      return (await ask({ type: 'describe', name, source })).text
    },

    /** Ctrl-C, once: the worker is asked to stop what it does. */
    interrupt: () => worker.interrupt(),

    /** Ctrl-C, twice: the worker is killed; the statement's own work is lost, the session is not. */
    kill: () => worker.kill(),

    /** Starts a new worker; with keep, it gets the imports, declarations and plain variables of the old one. */
    async restart({ keep }: { keep: boolean }): Promise<Opened> {
      snapshot = keep ? (await worker.ask({ type: 'snapshot' })).snapshot : undefined
      declarations = keep ? declarations : []
      await worker.close()
      return start()
    },

    async close(): Promise<void> {
      isClosed = true
      await worker.close()
    },
  }
}

function describeStep({ autoloader, preload }: SessionOptions, step: OpeningStep | undefined): string {
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
