import { findSourceMap } from 'node:module'
import { SOURCE_NAME } from './evaluator.ts'

/** The file name of a script, in its working folder. */
export const SCRIPT_NAME = '[script].ts'

/** The files of the worker that evaluates, and of what loads a module for it. */
const OWN_FOLDERS = ['.', '../../classes/node'].map((folder) => new URL(`${folder}/`, import.meta.url).href)

/** The preload file of scriptify: its frames say nothing about what was typed. */
const PRELOAD = /\/templates\/scriptify\/scriptify\.[jt]s$/

/**
 * Leaves the frames of this worker, from which the session's code is called, out of every stack: the code may print one
 * itself. A library that sets Error.prepareStackTrace takes precedence.
 */
export function hideOwnFrames(): void {
  Error.prepareStackTrace = (error, frames) =>
    [Error.prototype.toString.call(error), ...withoutPreload(withoutCallers(frames)).map(describeFrame)].join(
      '\n    at ',
    )
}

/** The frame with the place in the TypeScript file, where that was translated. */
function describeFrame(frame: NodeJS.CallSite): string {
  const [file, line, column] = [frame.getFileName() ?? '', frame.getLineNumber(), frame.getColumnNumber()]
  const origin = findSourceMap(file)?.findOrigin(line ?? 0, column ?? 0)
  if (origin === undefined || !('fileName' in origin)) return `${frame}`
  const { fileName, lineNumber, columnNumber } = origin
  return `${frame}`.replace(`${file}:${line}:${column}`, `${fileName}:${lineNumber}:${columnNumber}`)
}

/** An error of the preload file itself, while it is loaded, has no other frames. */
function withoutPreload(frames: NodeJS.CallSite[]): NodeJS.CallSite[] {
  const others = frames.filter((frame) => !PRELOAD.test(frame.getFileName() ?? ''))
  const isTyped = (name: string) => name === SOURCE_NAME || name.endsWith(encodeURI(`/${SCRIPT_NAME}`))
  return others.some((frame) => isTyped(frame.getScriptNameOrSourceURL() ?? '')) ? others : frames
}

/** The worker's frames come last, except in an error of the worker itself. */
function withoutCallers(frames: NodeJS.CallSite[]): NodeJS.CallSite[] {
  const first = frames.findIndex((frame) => !isOwn(frame))
  const end = frames.findIndex((frame, index) => index > first && isOwn(frame))
  return end === -1 ? frames : frames.slice(0, end)
}

function isOwn(frame: NodeJS.CallSite): boolean {
  const file = frame.getFileName()
  return (
    typeof file === 'string' &&
    (file === 'node:inspector' || OWN_FOLDERS.some((folder) => file.startsWith(folder)))
  )
}
