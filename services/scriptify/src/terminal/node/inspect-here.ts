import type { Runtime, Session } from 'node:inspector'

/** The global property in which a value waits while it passes between the inspector, which has references, and this code. */
const SLOT = 'scriptify.slot'
const slot = Symbol.for(SLOT)

/** Asks an inspector that is connected to this thread, and so answers before post() returns; throws what it refuses. */
export function askHere<Answer>(session: Session, method: string, parameters: object = {}): Answer {
  let answer: Answer | undefined
  let failure: Error | null = null
  session.post(method, parameters, (error, given) => {
    failure = error
    answer = given as Answer
  })
  if (failure !== null) throw failure
  return answer as Answer
}

/** Evaluates an expression in this thread's global scope; gives the inspector's reference to its value. */
export const evaluateHere = (session: Session, expression: string): Runtime.RemoteObject =>
  askHere<Runtime.EvaluateReturnType>(session, 'Runtime.evaluate', { expression }).result

/** The value that a reference of the inspector stands for; releases the reference. */
export function readReference(session: Session, reference: Runtime.RemoteObject): unknown {
  const { objectId, unserializableValue, value } = reference
  if (objectId === undefined && unserializableValue === undefined) return value
  try {
    askHere(session, 'Runtime.callFunctionOn', {
      functionDeclaration: `function (value) { globalThis[Symbol.for('${SLOT}')] = value }`,
      objectId: evaluateHere(session, 'globalThis').objectId,
      arguments: [objectId === undefined ? { unserializableValue } : { objectId }],
    })
    return Reflect.get(globalThis, slot)
  } finally {
    Reflect.deleteProperty(globalThis, slot)
    if (objectId !== undefined) askHere(session, 'Runtime.releaseObject', { objectId })
  }
}
