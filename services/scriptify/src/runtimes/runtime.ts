/** A public method of a class (or a function of a module), in the language that the project speaks. */
export interface MethodReference {
  readonly runtime: 'php' | 'node'
  /** The class as its language names it; in node the module's absolute path, for a class joined by `#` with its export. */
  readonly className: string
  readonly method: string
  /** As the user wrote it, for messages and for what is installed. */
  readonly text: string
}

/** What is to be called, and how. */
export interface MethodCall {
  readonly reference: MethodReference
  /** Handed over in order, byte for byte. A byte that is no UTF-8 stands as U+DC00 plus that byte (PEP 383). */
  readonly args: readonly string[]
  /** The places in `args` (0 is the first) of those that are JSON, to be handed over as the value they stand for. */
  readonly jsonArgs?: readonly number[]
  /** Absolute; the working directory of the call. */
  readonly rootdir: string
  /** Absolute path of the file that loads the project's classes; none where the runtime needs none. */
  readonly bootstrap: string | undefined
  /** Absent: once. Else again and again, that many seconds apart, until SIGTERM. */
  readonly daemon?: { readonly interval: number; readonly keepGoing?: boolean }
  /** Lets the method have more arguments than it names. */
  readonly loose?: boolean
  /** Writes what the method returns to stdout, as JSON. */
  readonly print?: boolean
  /** Keeps compiled code in the home of whoever calls: a faster start, but not for a service that root starts. */
  readonly compileCache?: boolean
}

/** The absolute path of a program, and its arguments. */
export type CommandWords = readonly [string, ...string[]]

/** One language. `run` starts its command, `install` writes the very same command into a service. */
export interface MethodRuntime {
  readonly name: 'php' | 'node'
  /**
   * The words that make the call, first the absolute path of the program: no shell, no wrapper, so that a supervisor's
   * pid and signals are the method's own. Throws a CliError (5) where the language is missing or too old.
   */
  command(call: MethodCall, env: NodeJS.ProcessEnv): Promise<CommandWords>
  /**
   * The words that look for what the call needs, without making it; `runCheck` runs them. They load the bootstrap and
   * the class, which is somebody's code: run them as the user that the call will have.
   */
  checkCommand(call: MethodCall, env: NodeJS.ProcessEnv): Promise<CommandWords>
  /** The words that print the method's documentation, without constructing its class. */
  docsCommand(call: MethodCall, env: NodeJS.ProcessEnv): Promise<CommandWords>
}
