import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The files of the worker that evaluates. */
const OWN_FOLDER = `${pathToFileURL(dirname(import.meta.filename)).href}/`

/**
 * Leaves the frames of this worker, from which the session's code is called, out of every stack: the code may print one
 * itself. A library that sets Error.prepareStackTrace takes precedence.
 */
export function hideOwnFrames(): void {
  Error.prepareStackTrace = (error, frames) =>
    [Error.prototype.toString.call(error), ...withoutCallers(frames)].join('\n    at ')
}

/** The worker's frames come last, except in an error of the worker itself. */
function withoutCallers(frames: NodeJS.CallSite[]): NodeJS.CallSite[] {
  const first = frames.findIndex((frame) => !isOwn(frame))
  const end = frames.findIndex((frame, index) => index > first && isOwn(frame))
  return end === -1 ? frames : frames.slice(0, end)
}

function isOwn(frame: NodeJS.CallSite): boolean {
  const file = frame.getFileName()
  return typeof file === 'string' && (file === 'node:inspector' || file.startsWith(OWN_FOLDER))
}
