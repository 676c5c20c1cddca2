import type { RuntimeName } from '../classes/choose-runtime.ts'

/** A public method of a class, or a function of a module. */
export interface MethodReference {
  readonly runtime: RuntimeName
  /** The absolute path of the file that declares the class or the function; undefined for a class of php's autoloader. */
  readonly module?: string | undefined
  /** The class as its language names it; undefined for a function of a module. */
  readonly className?: string | undefined
  /** The method; empty where only the class is named. */
  readonly method: string
  /** The reference as the user wrote it, for messages and installed files. */
  readonly text: string
}

/** A method, its arguments, and the way to call it. */
export interface MethodCall {
  readonly reference: MethodReference
  /** The arguments, in order. */
  readonly args: readonly string[]
  /** Indexes (from 0) of the `args` that are JSON and are passed as the value they encode. */
  readonly jsonArgs?: readonly number[]
  /** The absolute path of the working directory of the call. */
  readonly rootdir: string
  /** The absolute path of the file that loads the project's classes; undefined where the runtime needs none. */
  readonly bootstrap?: string | undefined
  /** The pause in seconds between repeated calls, which end by SIGTERM; absent for a single call. */
  readonly daemon?: { readonly interval: number }
  /** True where the method's result is written to stdout as JSON. */
  readonly print?: boolean
  /** True where a failure is told with its frames; else it is one line. */
  readonly trace?: boolean
  /** Caches compiled code in the caller's home, for a faster start. Not for a service that root starts. */
  readonly compileCache?: boolean
}

/** The task to do with the method; `methods` lists those of the class. */
export type MethodTask = 'call' | 'check' | 'docs' | 'methods'

/** The options that the program `call-method` of each runtime receives: all but the arguments, in one word, as JSON. */
export type CallerOptions = Omit<MethodCall, 'reference' | 'compileCache'> &
  Omit<MethodReference, 'runtime'> & { readonly task: MethodTask }

export function formatCallerOptions(call: MethodCall, task: MethodTask): string[] {
  const { reference, args, compileCache: _, ...options } = call
  const { runtime: __, ...method } = reference
  return [JSON.stringify({ task, ...method, ...options }), ...args]
}

export const parseCallerOptions = ([options = '', ...args]: readonly string[]): CallerOptions => ({
  ...JSON.parse(options),
  args,
})
