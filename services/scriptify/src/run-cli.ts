import { type Command, CommanderError } from 'commander'
import { CliError } from './cli-error.ts'
import { errorMessage } from './error-message.ts'
import { EXIT } from './exit-codes.ts'

/** Runs what the words after the program's ask for; resolves with the exit code, says a failure in one line. */
export async function runCli(program: Command, argv: readonly string[]): Promise<number> {
  process.stdout.on('error', (error) => {
    // Who listens too has more to end than itself.
    if (process.stdout.listenerCount('error') === 1) process.exit(report(error))
  })
  try {
    await program.parseAsync(argv)
    return Number(process.exitCode ?? EXIT.ok)
  } catch (error) {
    return report(error)
  }
}

function report(error: unknown): number {
  // commander has said it already
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return EXIT.outputClosed
  if (process.env.SCRIPTIFY_DEBUG) console.error(error)
  else console.error(errorMessage(error).replaceAll(/\s*\n\s*/g, ' '))
  return error instanceof CliError ? error.exitCode : EXIT.failed
}
