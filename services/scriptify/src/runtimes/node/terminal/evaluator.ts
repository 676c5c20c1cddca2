import { type Runtime, Session } from 'node:inspector'
import { Worker } from 'node:worker_threads'

export type Evaluation =
  | { status: 'value'; value: unknown }
  | { status: 'thrown'; error: unknown }
  | { status: 'interrupted' }
  | { status: 'exited'; code: unknown }

/** process.exit in a callback. */
export class ExitCalled extends Error {
  constructor(code: unknown) {
    super(`process.exit(${code ?? ''}) was called`)
  }
}

/** A value whose promise the prompt waits for without being asked to, like the one qq() returns. */
export const AWAITED = Symbol.for('scriptify.awaited')
const SOURCE_NAME = 'node-shell-code'

/** Evaluates scripts in this thread's global scope in REPL mode, interruptible, with top-level await. */
export function createEvaluator() {
  const session = new Session()
  session.connect()
  const answered = new Int32Array(new SharedArrayBuffer(4))
  let abandon: ((evaluation: Evaluation) => void) | undefined
  let received: unknown
  let isInEvaluate = false

  const watcher = new Worker(new URL('interrupt-thread.ts', import.meta.url), { workerData: answered.buffer })
  watcher.unref()
  watcher.on('message', () => {
    Atomics.store(answered, 0, 1)
    abandon?.({ status: 'interrupted' })
  })

  Object.defineProperty(globalThis, '__scriptify_receive', {
    value: (value: unknown) => {
      received = value
    },
  })

  const post = (method: 'Runtime.evaluate', parameters: Runtime.EvaluateParameterType) =>
    new Promise<Runtime.EvaluateReturnType>((resolve, reject) => {
      session.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result)))
    })

  /** Fetches the real value behind what the inspector only describes. */
  const fetchValue = (remote: Runtime.RemoteObject): unknown => {
    if (remote.objectId === undefined && remote.unserializableValue === undefined) return remote.value
    received = undefined
    session.post('Runtime.evaluate', { expression: 'globalThis' }, (_error, result) => {
      session.post('Runtime.callFunctionOn', {
        functionDeclaration: 'function (value) { __scriptify_receive(value) }',
        objectId: result.result.objectId,
        arguments: [
          remote.objectId === undefined
            ? { unserializableValue: remote.unserializableValue }
            : { objectId: remote.objectId },
        ],
      } as Runtime.CallFunctionOnParameterType)
    })
    const value = received
    received = undefined
    if (remote.objectId !== undefined) session.post('Runtime.releaseObject', { objectId: remote.objectId })
    return value
  }

  const run = async (expression: string): Promise<Evaluation> => {
    try {
      isInEvaluate = true
      const answer = post('Runtime.evaluate', {
        expression,
        replMode: true,
        awaitPromise: true,
      } as Runtime.EvaluateParameterType)
      isInEvaluate = false
      const { result, exceptionDetails } = await answer
      if (exceptionDetails) {
        return {
          status: 'thrown',
          error: exceptionDetails.exception && fetchValue(exceptionDetails.exception),
        }
      }
      const value = fetchValue(result)
      const isAwaited = value instanceof Promise && AWAITED in value
      return { status: 'value', value: isAwaited ? await value : value }
    } catch (error) {
      // The inspector answers "Internal error" for an evaluation that was terminated.
      if (error instanceof Error && 'code' in error && error.code === 'ERR_INSPECTOR_COMMAND') {
        return { status: 'interrupted' }
      }
      return { status: 'thrown', error }
    }
  }

  const evaluate = (code: string, line: number): Promise<Evaluation> => {
    const abandoned = new Promise<Evaluation>((resolve) => {
      abandon = resolve
    })
    const expression = `${'\n'.repeat(line - 1)}${code}\n//# sourceURL=${SOURCE_NAME}`
    return Promise.race([abandoned, run(expression)]).finally(() => {
      abandon = undefined
    })
  }

  return {
    evaluate,

    /** Replaces process.exit: reports, and stops the code that called it. */
    exit(code: unknown): never {
      abandon?.({ status: 'exited', code })
      // In a callback of the event loop a termination would corrupt Node's own stack of callbacks.
      if (!isInEvaluate) throw new ExitCalled(code)
      session.post('Runtime.terminateExecution')
      for (;;); // stopped at once, and no catch can prevent it
    },

    /** The names declared by let, const and class at the prompt. */
    lexicalNames(): string[] {
      let names: string[] = []
      session.post('Runtime.globalLexicalScopeNames', {}, (_error, result) => {
        names = result?.names ?? []
      })
      return names
    },

    /** Reads variables by name without running code of theirs; a name that cannot be read is left out. */
    read(names: string[]): Map<string, unknown> {
      const entries = names.map((name) => `(() => { try { return ${name} } catch {} })()`)
      let list: unknown
      session.post('Runtime.evaluate', { expression: `[${entries.join(',')}]` }, (_error, result) => {
        list = result && fetchValue(result.result)
      })
      return new Map(names.map((name, index) => [name, Array.isArray(list) ? list[index] : undefined]))
    },
  }
}

export type Evaluator = ReturnType<typeof createEvaluator>
