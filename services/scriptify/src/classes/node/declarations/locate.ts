import { readFileSync } from 'node:fs'
import { type Debugger, type Runtime, Session } from 'node:inspector'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Callable } from './callable.ts'

/** A position in source text. The line counts from 1 and the column from 0, as the parser does. */
export interface SourceLocation {
  source: string
  line: number
  column: number
}

const SUBJECT = Symbol.for('scriptify.subject')

/**
 * Asks V8 where a function or class is written, which no alias, re-export or base class hides; undefined for native
 * code. Stripping types moves nothing, so the position is that in the TypeScript file.
 */
export function locate(subject: Callable): SourceLocation | undefined {
  const urls = new Map<string, string>()
  const session = new Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
  try {
    session.post('Debugger.enable')
    const location = readFunctionLocation(session, subject)
    if (location === undefined) return undefined
    const url = urls.get(location.scriptId) ?? ''
    if (url.startsWith('node:')) return undefined
    const source = readFile(url) ?? readScript(session, location.scriptId)
    return { source, line: location.lineNumber + 1, column: location.columnNumber ?? 0 }
  } finally {
    session.disconnect()
  }
}

/** The session inspects its own thread, so post() returns with the answer. */
function readFunctionLocation(session: Session, subject: Callable): Debugger.Location | undefined {
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

/** The text of a file with its types; undefined for code that was typed or generated. CommonJS has paths, not URLs. */
function readFile(url: string): string | undefined {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url
  return isAbsolute(path) ? readFileSync(path, 'utf8') : undefined
}

function readScript(session: Session, scriptId: string): string {
  let source = ''
  session.post('Debugger.getScriptSource', { scriptId }, (_error, answer) => {
    source = answer?.scriptSource ?? ''
  })
  return source
}
