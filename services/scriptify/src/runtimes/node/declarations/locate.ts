import { type Debugger, type Runtime, Session } from 'node:inspector'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Callable } from '../method/target.ts'

/** A place in a file. The line counts from 1 and the column from 0, as the parser does. */
export interface Place {
  file: string
  line: number
  column: number
}

const SUBJECT = Symbol.for('scriptify.subject')

/**
 * Asks V8 where a function or class was written, which no alias, re-export or base class hides; undefined where it was
 * no file. Stripping types moves nothing.
 */
export function locate(subject: Callable): Place | undefined {
  const urls = new Map<string, string>()
  const session = new Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
  try {
    session.post('Debugger.enable')
    const location = readLocation(session, subject)
    const file = pathOf((location && urls.get(location.scriptId)) ?? '')
    if (!location || file === undefined) return undefined
    return { file, line: location.lineNumber + 1, column: location.columnNumber ?? 0 }
  } finally {
    session.disconnect()
  }
}

/** The session is with this very thread: every answer is there when post() returns. */
function readLocation(session: Session, subject: Callable): Debugger.Location | undefined {
  let held: Runtime.EvaluateReturnType | undefined
  Reflect.set(globalThis, SUBJECT, subject)
  const expression = `globalThis[Symbol.for('${SUBJECT.description}')]`
  session.post('Runtime.evaluate', { expression }, (_error, answer) => {
    held = answer
  })
  Reflect.deleteProperty(globalThis, SUBJECT)
  let properties: Runtime.GetPropertiesReturnType | undefined
  session.post('Runtime.getProperties', { objectId: held?.result.objectId ?? '' }, (_error, answer) => {
    properties = answer
  })
  return properties?.internalProperties?.find(({ name }) => name === '[[FunctionLocation]]')?.value?.value
}

/** CommonJS goes by paths; what is Node's own, or made at run time, is no file. */
function pathOf(url: string): string | undefined {
  if (url.startsWith('file:')) return fileURLToPath(url)
  return isAbsolute(url) ? url : undefined
}
