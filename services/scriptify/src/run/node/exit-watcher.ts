import { EXIT } from '../../io/cli-error.ts'
import { printError } from './describe-error.ts'

export interface ExitWatcher {
  /** Makes each later process.exit() of the project a failure of `step`. */
  forbidExit(step: string): void
  /** The project may end the process; `awaited` never settling is a failure, if given. */
  permitExit(awaited?: string): void
}

interface ExitWatcherOptions {
  describe(error: unknown): string
  /** The event that a forbidden exit came before, such as `the method was called`. */
  goal: string
}

/** Ends the process with a message on stderr and an exit code, whatever ends it. */
export function watchExit({ describe, goal }: ExitWatcherOptions): ExitWatcher {
  let step: string | undefined
  let awaited: string | undefined
  const fail = (message: string): never => {
    step = undefined
    printError(message)
    process.exit(EXIT.failed)
  }
  process.on('exit', () => {
    if (step === undefined) return
    printError(`${step} ended the process before ${goal}`)
    process.exitCode = EXIT.failed
  })
  // Emitted only when nothing is left that could settle a promise.
  process.on('beforeExit', () => {
    if (awaited !== undefined)
      fail(`${awaited} never finished: nothing is left that could settle its promise`)
  })
  process.on('uncaughtException', (error) => {
    // The project may handle it.
    if (process.listenerCount('uncaughtException') === 1) fail(describe(error))
  })
  return {
    forbidExit: (name) => {
      step = name
      awaited = name
    },
    permitExit: (name) => {
      step = undefined
      awaited = name
    },
  }
}
