import type { RuntimeName } from '../../classes/choose-runtime.ts'
import type { CommandWords } from '../../io/replace-process.ts'

export interface BackendOptions {
  rootdir: string
  env: NodeJS.ProcessEnv
}

/** The part of a language that the terminal has to know; everything else goes through the worker's protocol. */
export interface TerminalBackend {
  name: RuntimeName
  language: 'Node' | 'PHP'
  /** The preload file that is loaded when none is named; relative to rootdir. */
  preload: string
  /** Absolute path of the file that loads the project's classes, if there is one. */
  autoloader: string | undefined
  /** The program that evaluates, started with the protocol's socket as fd 3. */
  worker: WorkerCommand
  /** The program that runs a script; throws a CliError (5) if the language is missing or too old. */
  scriptCommand(): CommandWords | Promise<CommandWords>
  /** Called when a worker dies before its first step; throws a CliError (5) if the language is missing or too old. */
  describeCrash?(): Promise<void>
}

export interface WorkerCommand {
  file: string
  args: string[]
  /** A worker that cannot notice Ctrl-C while it computes is notified through fd 4. */
  hasInterruptPipe: boolean
}
