import type { Readable, Writable } from 'node:stream'

/** Where a command reads and writes, which is `process` for the program itself. */
export interface CliContext {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable
  readonly stdout: Output
  readonly stderr: Writable
  /** Of a command that neither throws nor succeeds. */
  exitCode?: string | number | null | undefined
}

export type Output = Writable & { readonly isTTY?: boolean }
