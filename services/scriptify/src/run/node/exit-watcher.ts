import { EXIT } from '../../io/cli-error.ts'
import type { CallerOptions } from '../method-call.ts'
import { describeError, printError } from './describe-error.ts'

export interface ExitWatcher {
  /** Makes each later process.exit() of the project a failure of `step`. */
  forbidExit(step: string): void
  /** The project may end the process; `awaited` never settling is a failure, if given. */
  permitExit(awaited?: string): void
}

/** Ends the process with a message on stderr and an exit code, whatever ends it. */
export function watchExit(options: CallerOptions): ExitWatcher {
  let step: string | undefined
  let awaited: string | undefined
  const fail = (message: string): never => {
    step = undefined
    printError(message)
    process.exit(EXIT.failed)
  }
  process.on('exit', () => {
    if (step === undefined) return
    printError(`${step} ended the process before the method was called`)
    process.exitCode = EXIT.failed
  })
  // Emitted only when nothing is left that could settle a promise.
  process.on('beforeExit', () => {
    if (awaited !== undefined)
      fail(`${awaited} never finished: nothing is left that could settle its promise`)
  })
  process.on('uncaughtException', (error) => fail(describeError(error, options)))
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
