import type { Readable, Writable } from 'node:stream'
import type { CommandWords } from './replace-process.ts'

/** The streams and the environment of a command: `process`, for the program itself. */
export interface CliContext {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Writable
  /** Exit code for a command that failed without throwing. */
  exitCode?: string | number | null | undefined
  /** Runs the program of a command instead of this process; resolves with its exit code. Default: replaceProcess. */
  replace?(command: CommandWords, env: NodeJS.ProcessEnv): Promise<number>
}

/** A stream that may be a terminal, which has a width. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }
