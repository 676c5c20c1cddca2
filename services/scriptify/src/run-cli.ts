import { type Command, CommanderError } from 'commander'
import { CliError } from './cli-error.ts'
import { errorMessage } from './error-message.ts'
import { EXIT } from './exit-codes.ts'

/** Runs the command in argv; resolves with the exit code. A failure is one line on stderr. */
export async function runCli(program: Command, argv: readonly string[]): Promise<number> {
  process.stdout.on('error', (error) => {
    // A command with its own listener has more to end than this process.
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
  // commander has printed the message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return EXIT.outputClosed
  if (process.env.SCRIPTIFY_DEBUG) console.error(error)
  else console.error(errorMessage(error).replaceAll(/\s*\n\s*/g, ' '))
  return error instanceof CliError ? error.exitCode : EXIT.failed
}
