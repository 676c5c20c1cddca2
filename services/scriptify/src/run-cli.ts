import { inspect } from 'node:util'
import { type Command, CommanderError } from 'commander'
import type { CliContext } from './cli-context.ts'
import { CliError } from './cli-error.ts'
import { errorMessage } from './error-message.ts'
import { EXIT } from './exit-codes.ts'

/** Runs the command in argv; resolves with the exit code. A failure is one line on stderr. */
export async function runCli(
  program: Command,
  argv: readonly string[],
  context: CliContext = process,
): Promise<number> {
  try {
    await program.parseAsync(argv)
    return Number(context.exitCode ?? EXIT.ok)
  } catch (error) {
    return report(error, context)
  }
}

/** Ends this process when its output cannot be written, such as to a closed pipe. */
export function exitOnOutputError(): void {
  process.stdout.on('error', (error) => {
    // A command with its own listener has more to end than this process.
    if (process.stdout.listenerCount('error') === 1) process.exit(report(error, process))
  })
}

function report(error: unknown, { env, stderr }: CliContext): number {
  // commander has printed the message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return EXIT.outputClosed
  stderr.write(`${env.SCRIPTIFY_DEBUG ? inspect(error) : errorMessage(error).replaceAll(/\s*\n\s*/g, ' ')}\n`)
  return error instanceof CliError ? error.exitCode : EXIT.failed
}
