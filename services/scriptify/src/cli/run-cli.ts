import { type Command, CommanderError } from 'commander'
import type { CliContext } from './cli-context.ts'
import { EXIT } from './exit-codes.ts'
import { runReported } from './run-reported.ts'

/** Runs the command in argv; resolves with the exit code. A failure is one line on stderr. */
export const runCli = (
  program: Command,
  argv: readonly string[],
  context: CliContext = process,
): Promise<number> =>
  runReported(async () => {
    try {
      await program.parseAsync(argv)
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      // commander has printed the message.
      context.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
    }
  }, context)
