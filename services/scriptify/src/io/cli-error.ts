/** The exit codes of the CLI; a signal is 128 + its number. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notPermitted: 4,
  runtimeMissing: 5,
  /** The exit codes of `endpoint`, which are those of curl. */
  noResponse: 7,
  httpError: 22,
  timeout: 28,
  /** 128 + SIGPIPE, which Node ignores: the output has no reader. */
  outputClosed: 141,
} as const

/** A failure that the user can act on: one line on stderr and an exit code, never a stack. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The code of an error of the system or of Node, such as ENOENT; undefined for any other. */
export const errorCode = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** The message of anything that was thrown. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
