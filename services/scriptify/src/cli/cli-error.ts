/** A failure that the user can act on: one line on stderr and an exit code, never a stack. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The message of anything that was thrown. Separate from shared's: installed services run without that package. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
