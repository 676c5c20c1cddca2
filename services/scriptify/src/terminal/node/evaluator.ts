import type { Runtime } from 'node:inspector'
import { extname, join } from 'node:path'
import { types } from 'node:util'
import { Worker } from 'node:worker_threads'
import { connectInspector, type Inspector } from './inspector.ts'
import type { InterruptStates } from './interrupt-thread.ts'

export type Evaluation =
  | { status: 'value'; value: unknown }
  | { status: 'thrown'; error: unknown }
  | { status: 'interrupted' }
  | { status: 'exited'; code: unknown }

/** process.exit() was called in a callback of the event loop. */
export class ExitCalled extends Error {
  constructor(code: unknown) {
    super(`process.exit(${code ?? ''}) was called`)
  }
}

export interface Evaluator extends Pick<Inspector, 'lexicalNames' | 'read'> {
  /**
   * Evaluates code; Ctrl-C and process.exit() end the evaluation, not the process.
   * Ctrl-C does not end what runs then, such as the answer, until `allowInterrupts` or the next evaluation.
   */
  evaluate(code: string): Promise<Evaluation>
  allowInterrupts(): void
  refuseInterrupts(): void
  /** Replaces process.exit(): reports the call and stops the code that made it. */
  exit(code: unknown): never
}

/** Marks a promise that the prompt awaits without an `await`, such as the one that qq() returns. */
export const AWAITED = Symbol.for('scriptify.awaited')
/** The file name of what is typed, in stack traces. */
export const SOURCE_NAME = 'node-shell-code'

/** Evaluates scripts in this thread's global scope. */
export function createEvaluator(): Evaluator {
  const inspector = connectInspector()
  let abandon: ((evaluation: Evaluation) => void) | undefined
  let isEvaluating = false
  const interrupts = watchInterrupts(() => abandon?.({ status: 'interrupted' }))

  const run = (expression: string): Promise<Evaluation> => {
    // True while the script runs up to its first await.
    isEvaluating = true
    const answer = inspector.evaluate(expression)
    isEvaluating = false
    return toEvaluation(answer, inspector)
  }
  /**
   * Stops the code that called process.exit(), as the process would have: no `catch` and no `finally` of it may run. Only V8
   * can do that. It terminates this thread's code at the next turn of a loop, so there has to be one.
   */
  const stopNow = (): never => {
    inspector.terminate()
    for (;;);
  }
  return {
    lexicalNames: inspector.lexicalNames,
    read: inspector.read,
    async evaluate(code) {
      const { promise: abandoned, resolve } = Promise.withResolvers<Evaluation>()
      abandon = resolve
      interrupts.allow()
      const expression = `${code}\n//# sourceURL=${SOURCE_NAME}`
      try {
        return await Promise.race([abandoned, run(expression)])
      } finally {
        abandon = undefined
        interrupts.refuse()
      }
    },
    allowInterrupts: interrupts.allow,
    refuseInterrupts: interrupts.refuse,
    exit(code) {
      abandon?.({ status: 'exited', code })
      // In a callback of the event loop a termination would corrupt Node's own stack of callbacks.
      if (!isEvaluating) throw new ExitCalled(code)
      return stopNow()
    },
  }
}

async function toEvaluation(
  answer: Promise<Runtime.EvaluateReturnType>,
  { fetch }: Inspector,
): Promise<Evaluation> {
  try {
    const { result, exceptionDetails } = await answer
    if (exceptionDetails) {
      return { status: 'thrown', error: exceptionDetails.exception && fetch(exceptionDetails.exception) }
    }
    const value = fetch(result)
    const isAwaited = types.isPromise(value) && AWAITED in value
    return { status: 'value', value: isAwaited ? await value : value }
  } catch (error) {
    // The inspector answers "Internal error" for an evaluation that was terminated.
    const isTerminated =
      types.isNativeError(error) && 'code' in error && error.code === 'ERR_INSPECTOR_COMMAND'
    return isTerminated ? { status: 'interrupted' } : { status: 'thrown', error }
  }
}

/** A thread waits for Ctrl-C, so that it is noticed while this thread runs an endless loop. */
function watchInterrupts(onInterrupt: () => void) {
  const states: InterruptStates = {
    answered: new Int32Array(new SharedArrayBuffer(4)),
    refused: new Int32Array(new SharedArrayBuffer(4)),
  }
  const file = join(import.meta.dirname, `interrupt-thread${extname(import.meta.filename)}`)
  const watcher = new Worker(file, { workerData: states })
  watcher.on('message', (number: number) => {
    Atomics.store(states.answered, 0, number)
    onInterrupt()
  })
  // Last, because a listener keeps the process alive.
  watcher.unref()
  return {
    allow: () => void Atomics.store(states.refused, 0, 0),
    refuse: () => void Atomics.store(states.refused, 0, 1),
  }
}
