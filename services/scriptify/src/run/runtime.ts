import type { RuntimeName } from '../classes/choose-runtime.ts'
import type { MethodCall } from './method-call.ts'

/** The absolute path of a program, and its arguments. */
export type CommandWords = readonly [string, ...string[]]

/** One language. Its commands throw a CliError (5) if the language is missing or too old. */
export interface Runtime {
  readonly name: RuntimeName
  /** The file that loads a project's classes; undefined if the runtime needs none. Throws a CliError (3) if it is missing. */
  findBootstrap(rootdir: string, env: NodeJS.ProcessEnv): string | undefined
  /**
   * The command that makes the call: `run` becomes it, `install` writes it into a service. It has neither a shell
   * nor a wrapper, so the supervisor's pid and signals are the method's own.
   */
  callCommand(call: MethodCall, env: NodeJS.ProcessEnv): Promise<CommandWords>
  /**
   * The command that checks whether the call could be made. It loads the bootstrap and the class, which are the
   * project's code: run it as the user that will make the call (see `runCheckCommand`).
   */
  checkCommand(call: MethodCall, env: NodeJS.ProcessEnv): Promise<CommandWords>
  /** The command that prints the method's documentation, without constructing its class. */
  docsCommand(call: MethodCall, env: NodeJS.ProcessEnv): Promise<CommandWords>
  /** The command that lists the methods of a class that can be called, without constructing it. */
  methodsCommand(call: MethodCall, env: NodeJS.ProcessEnv): Promise<CommandWords>
}
