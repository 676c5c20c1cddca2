import { type Runtime, Session } from 'node:inspector'

export interface Inspector {
  /** Evaluates a script in this thread's global scope, in REPL mode, with top-level await. */
  evaluate(expression: string): Promise<Runtime.EvaluateReturnType>
  /** The value that the inspector only describes. */
  fetch(remote: Runtime.RemoteObject): unknown
  /** The names declared by let, const and class at the prompt. */
  lexicalNames(): string[]
  /** Reads variables by name, undefined for one that cannot be read. */
  read(names: string[]): Map<string, unknown>
  /** Stops the code that runs in this thread. */
  terminate(): void
}

/** Connects an inspector to this thread: each post() but `evaluate` returns with the answer. */
export function connectInspector(): Inspector {
  const session = new Session()
  session.connect()
  const fetch = createFetch(session)
  return {
    fetch,
    evaluate: (expression) => evaluate(session, expression),
    lexicalNames() {
      let names: string[] = []
      session.post('Runtime.globalLexicalScopeNames', {}, (_error, answer) => {
        names = answer?.names ?? []
      })
      return names
    },
    read(names) {
      const attempts = names.map((name) => `(() => { try { return ${name} } catch {} })()`)
      let list: unknown
      session.post('Runtime.evaluate', { expression: `[${attempts.join(',')}]` }, (_error, answer) => {
        list = answer && fetch(answer.result)
      })
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

/** The inspector hands out references: a function of this thread receives the value itself. */
function createFetch(session: Session): Inspector['fetch'] {
  let received: unknown
  Object.defineProperty(globalThis, '__scriptify_receive', {
    value: (value: unknown) => {
      received = value
    },
  })
  return (remote) => {
    const { objectId, unserializableValue } = remote
    if (objectId === undefined && unserializableValue === undefined) return remote.value
    received = undefined
    session.post('Runtime.evaluate', { expression: 'globalThis' }, (_error, { result }) => {
      session.post('Runtime.callFunctionOn', {
        functionDeclaration: 'function (value) { __scriptify_receive(value) }',
        objectId: result.objectId,
        arguments: [objectId === undefined ? { unserializableValue } : { objectId }],
      } as Runtime.CallFunctionOnParameterType)
    })
    const value = received
    received = undefined
    if (objectId !== undefined) session.post('Runtime.releaseObject', { objectId })
    return value
  }
}
