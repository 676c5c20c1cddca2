import { type Runtime, Session } from 'node:inspector'
import { askHere, evaluateHere, readReference } from './inspect-here.ts'

export interface Inspector {
  /** Evaluates a script in this thread's global scope, in REPL mode, with top-level await. */
  evaluate(expression: string): Promise<Runtime.EvaluateReturnType>
  /** The value that the inspector only describes. */
  fetch(reference: Runtime.RemoteObject): unknown
  /** The names declared by let, const and class at the prompt. */
  lexicalNames(): string[]
  /** Reads variables by name, undefined for one that cannot be read. */
  read(names: string[]): Map<string, unknown>
  /** Stops the code that runs in this thread. */
  terminate(): void
}

/** Connects an inspector to this thread. */
export function connectInspector(): Inspector {
  const session = new Session()
  session.connect()
  return {
    fetch: (reference) => readReference(session, reference),
    evaluate: (expression) => evaluate(session, expression),
    lexicalNames: () =>
      askHere<Runtime.GlobalLexicalScopeNamesReturnType>(session, 'Runtime.globalLexicalScopeNames').names,
    read(names) {
      const attempts = names.map((name) => `(() => { try { return ${name} } catch {} })()`)
      const list = readReference(session, evaluateHere(session, `[${attempts.join(',')}]`))
      return new Map(names.map((name, index) => [name, Array.isArray(list) ? list[index] : undefined]))
    },
    terminate: () => session.post('Runtime.terminateExecution'),
  }
}

function evaluate(session: Session, expression: string): Promise<Runtime.EvaluateReturnType> {
  // The type declarations lack replMode.
  const parameters = { expression, replMode: true, awaitPromise: true } as Runtime.EvaluateParameterType
  return new Promise((resolve, reject) => {
    session.post('Runtime.evaluate', parameters, (error, answer) => (error ? reject(error) : resolve(answer)))
  })
}
