import { readFileSync } from 'node:fs'
import { type Debugger, type Runtime, Session } from 'node:inspector'
import { findSourceMap } from 'node:module'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Callable } from './callable.ts'
import { askHere, referenceTo } from './inspect-here.ts'

/** A position in source text. The line counts from 1 and the column from 0, as the parser does. */
export interface SourceLocation {
  source: string
  line: number
  column: number
}

/**
 * Asks V8 where a function or class is written, which no alias, re-export or base class hides; undefined for native
 * code.
 */
export function locate(subject: Callable): SourceLocation | undefined {
  const urls = new Map<string, string>()
  const session = new Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
  try {
    askHere(session, 'Debugger.enable')
    const { objectId } = referenceTo(session, subject)
    const { internalProperties = [] } = askHere<Runtime.GetPropertiesReturnType>(
      session,
      'Runtime.getProperties',
      { objectId },
    )
    const found = internalProperties.find(({ name }) => name === '[[FunctionLocation]]')
    const location: Debugger.Location | undefined = found?.value?.value
    const url = urls.get(location?.scriptId ?? '') ?? ''
    if (location === undefined || url.startsWith('node:')) return undefined
    const source = readFile(url) ?? readScript(session, location.scriptId)
    return { source, ...placeIn(url, location) }
  } finally {
    session.disconnect()
  }
}

/** The place in the file: code that was translated, and not only stripped, has others. */
function placeIn(
  url: string,
  { lineNumber, columnNumber = 0 }: Debugger.Location,
): Omit<SourceLocation, 'source'> {
  const entry = findSourceMap(url)?.findEntry(lineNumber, columnNumber)
  const [line, column] =
    entry && 'originalLine' in entry ? [entry.originalLine, entry.originalColumn] : [lineNumber, columnNumber]
  return { line: line + 1, column }
}

/** The text of a file with its types; undefined for code that was typed or generated. CommonJS has paths, not URLs. */
function readFile(url: string): string | undefined {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url
  return isAbsolute(path) ? readFileSync(path, 'utf8') : undefined
}

const readScript = (session: Session, scriptId: string): string =>
  askHere<Debugger.GetScriptSourceReturnType>(session, 'Debugger.getScriptSource', { scriptId }).scriptSource
