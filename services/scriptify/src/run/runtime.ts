import type { CommandWords } from '../io/replace-process.ts'
import type { MethodCall, MethodReference, MethodTask } from './method-call.ts'

/** A language in which methods are written. */
export interface Runtime {
  /** The file that loads a project's classes; undefined if the method needs none. Throws a CliError (3) if it is missing. */
  findBootstrap(
    rootdir: string,
    env: NodeJS.ProcessEnv,
    reference: Pick<MethodReference, 'module'>,
  ): string | undefined
  /**
   * The command that does the task. `env` has the PATH of the caller, in which the language is found. Throws a CliError (5)
   * if the language is missing or too old. It has neither a shell nor a wrapper, so a supervisor's pid and signals are the
   * method's own. Every task loads the project's code, `check` too: run it as the user that will make the call (see
   * `runCheckCommand`).
   */
  command(call: MethodCall, env: NodeJS.ProcessEnv, task: MethodTask): Promise<CommandWords>
}
