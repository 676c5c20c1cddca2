import type { Readable, Writable } from 'node:stream'
import type { CommandWords } from '../run/runtime.ts'

/** Where a command reads and writes, which is `process` for the program itself. */
export interface CliContext {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Writable
  /** Of a command that neither throws nor succeeds. */
  exitCode?: string | number | null | undefined
  /** Runs the program that a command turns into; resolves with its exit code. By default it replaces this process. */
  replaceProcess?(command: CommandWords, env: NodeJS.ProcessEnv): Promise<number>
}

export type Output = Writable & { readonly isTTY?: boolean }
