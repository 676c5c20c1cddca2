/** A public method of a class (or a function of a module), in the language that the project speaks. */
export interface MethodReference {
  readonly runtime: 'php' | 'node'
  /** The class as its language names it, or the module's absolute path and export, joined by `#`. */
  readonly className: string
  readonly method: string
  /** As the user wrote it, for messages and for what is installed. */
  readonly text: string
}

/** What is to be called, and how. */
export interface MethodCall {
  readonly reference: MethodReference
  /** Handed over in order, byte for byte. */
  readonly args: readonly string[]
  /** Absolute; the working directory of the call. */
  readonly rootdir: string
  /** Absolute path of the file that loads the project's classes; none where the runtime needs none. */
  readonly bootstrap: string | undefined
  /** Absent: once. Else again and again, that many seconds apart, until SIGTERM. */
  readonly daemon?: { readonly interval: number }
}

/** One language. `run` starts its command, `install` writes the very same command into a service. */
export interface MethodRuntime {
  readonly name: 'php' | 'node'
  /**
   * The words that make the call, first the absolute path of the program: no shell, no wrapper, so that a supervisor's
   * pid and signals are the method's own. Throws a CliError (5) where the language is missing or too old.
   */
  command(call: MethodCall, env: NodeJS.ProcessEnv): Promise<readonly [string, ...string[]]>
  /** Throws a CliError: 3 for what does not exist, 2 for arguments that the method does not take. */
  check(call: MethodCall, env: NodeJS.ProcessEnv): Promise<void>
}
