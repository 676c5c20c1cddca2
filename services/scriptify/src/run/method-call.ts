import type { RuntimeName } from '../classes/choose-runtime.ts'

/** A public method of a class, or a function of a module. */
export interface MethodReference {
  readonly runtime: RuntimeName
  /** The class as its language names it; in node the module's absolute path, for a class joined by `#` with its export. */
  readonly className: string
  /** Empty for the class alone. */
  readonly method: string
  /** As the user wrote it, for messages and installed files. */
  readonly text: string
}

/** A method, its arguments, and the way to call it. */
export interface MethodCall {
  readonly reference: MethodReference
  /** Passed in order, byte for byte. A byte that is not valid UTF-8 is U+DC00 plus that byte (PEP 383). */
  readonly args: readonly string[]
  /** Indexes (from 0) of the `args` that are JSON and are passed as the value they encode. */
  readonly jsonArgs?: readonly number[]
  /** Absolute; the working directory of the call. */
  readonly rootdir: string
  /** Absolute path of the file that loads the project's classes; undefined where the runtime needs none. */
  readonly bootstrap: string | undefined
  /** Absent: call once. Else call repeatedly, with `interval` seconds between calls, until SIGTERM. */
  readonly daemon?: { readonly interval: number; readonly keepGoing?: boolean }
  /** Accepts more arguments than the method declares. */
  readonly loose?: boolean
  /** Writes the method's result to stdout as JSON. */
  readonly print?: boolean
  /** Caches compiled code in the caller's home, for a faster start. Not for a service that root starts. */
  readonly compileCache?: boolean
}
