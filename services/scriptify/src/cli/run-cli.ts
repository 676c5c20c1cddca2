import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { type Command, CommanderError } from 'commander'
import type { CliContext } from './cli-context.ts'
import { CliError } from './cli-error.ts'
import { EXIT } from './exit-codes.ts'
import { runReported } from './run-reported.ts'

/** Runs the command in argv; resolves with the exit code. A failure is one line on stderr. */
export const runCli = (
  program: Command,
  argv: readonly string[],
  context: CliContext = process,
): Promise<number> =>
  runReported(async () => {
    demandUtf8(argv)
    try {
      await program.parseAsync(argv)
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      // commander has printed the message.
      context.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
    }
  }, context)

/** Throws a CliError (2) for a command line with other bytes, each of which Node has replaced by U+FFFD. */
function demandUtf8(argv: readonly string[]): void {
  if (!argv.some((word) => word.includes('\ufffd'))) return
  if (!isUtf8(readCommandLine())) throw new CliError('An argument is not UTF-8', EXIT.usage)
}

/** The words of this process as they were given; empty on a system without /proc. */
function readCommandLine(): Buffer {
  try {
    return readFileSync('/proc/self/cmdline')
  } catch {
    return Buffer.alloc(0)
  }
}
