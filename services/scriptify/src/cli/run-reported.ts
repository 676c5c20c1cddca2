import type { CliContext } from './cli-context.ts'
import { CliError, errorMessage } from './cli-error.ts'
import { EXIT } from './exit-codes.ts'

/** Runs a command; resolves with the exit code, which the command may set itself. A failure is one line on stderr. */
export async function runReported(command: () => Promise<void>, context: CliContext): Promise<number> {
  try {
    await command()
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
  // A message that nobody reads does not change the exit code.
  process.stderr.on('error', () => undefined)
}

function report(error: unknown, { env, stderr }: CliContext): number {
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return EXIT.outputClosed
  stderr.write(
    `${env.SCRIPTIFY_DEBUG ? describe(error) : errorMessage(error).replaceAll(/\s*\n\s*/g, ' ')}\n`,
  )
  return error instanceof CliError ? error.exitCode : EXIT.failed
}

/** Loads node:util where it is needed: a prompt waits for every module. */
const describe = (error: unknown): string => process.getBuiltinModule('node:util').inspect(error)
