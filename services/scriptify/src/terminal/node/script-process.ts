import type { Socket } from 'node:net'
import type { Evaluation } from './evaluator.ts'
import { SOURCE_NAME } from './evaluator.ts'

export interface ScriptProcess {
  /** process.exit(): ends the process with this code, unless a library would end the script as if it had succeeded. */
  exit(code?: number | string | null): never
  /** Waits for a statement; one that awaits what nothing can settle fails. */
  settle(evaluation: Promise<Evaluation>): Promise<Evaluation>
  /** Ends the process once nothing is pending. */
  finish(): void
}

export interface ScriptProcessOptions {
  /** Keeps the process alive between two statements. */
  socket: Pick<Socket, 'ref' | 'unref'>
  /** Ends the process. */
  end(code: number | string | null | undefined): never
  /** Ends the statement that calls it. */
  stopStatement(code: unknown): never
  /** Runs before the process ends by the script's own wish. */
  announceExit(code: number): void
  /** Reports a rejection that nothing handles. */
  onRejection(error: unknown): void
}

/** Makes this process end as a script's: with its own exit code, and not before its timers and requests. */
export function createScriptProcess(options: ScriptProcessOptions): ScriptProcess {
  const { socket, end, stopStatement, announceExit } = options
  const finish = watchRejections(options)
  return {
    exit(code): never {
      const status = Number(code ?? process.exitCode ?? 0)
      if (status === 0 && isCalledByLibrary()) return stopStatement(code)
      announceExit(status)
      return end(code)
    },
    async settle(evaluation) {
      const { promise: drained, resolve } = Promise.withResolvers<Evaluation>()
      const onDrained = () => {
        socket.ref()
        const error = new Error('The statement awaits a promise that nothing settles')
        // Its frames are those of the terminal.
        error.stack = `${error}`
        resolve({ status: 'thrown', error })
      }
      process.once('beforeExit', onDrained)
      socket.unref()
      try {
        return await Promise.race([evaluation, drained])
      } finally {
        socket.ref()
        process.off('beforeExit', onDrained)
      }
    },
    finish() {
      finish()
      socket.unref()
    },
  }
}

/** A later statement may still handle a rejection, so it counts at the end. Gives the function that tells the end. */
function watchRejections({ onRejection }: ScriptProcessOptions): () => void {
  const open = new Map<Promise<unknown>, unknown>()
  let isFinishing = false
  process.on('unhandledRejection', (error, promise) => {
    if (isFinishing) onRejection(error)
    else open.set(promise, error)
  })
  process.on('rejectionHandled', (promise) => void open.delete(promise))
  return () => {
    isFinishing = true
    for (const error of open.values()) onRejection(error)
  }
}

/** Whether the code that called process.exit() is in a file, not in the script. */
function isCalledByLibrary(): boolean {
  const [, ...frames] = new Error().stack?.split('\n') ?? []
  const caller = frames.slice(2).find((frame) => !frame.includes('node:'))
  return caller !== undefined && !caller.includes(SOURCE_NAME)
}
