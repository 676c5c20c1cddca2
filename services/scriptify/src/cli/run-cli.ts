import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { printableLines } from '@latchkey/text/printable.ts'
import { type Command, CommanderError } from 'commander'
import type { CliContext } from '../io/cli-context.ts'
import { CliError, EXIT, errorCode, errorMessage } from '../io/cli-error.ts'
import { SETTINGS } from '../scriptify-settings.ts'

/**
 * Runs the command in argv; resolves with the exit code, which the command may set itself. A failure is one line on
 * stderr.
 */
export async function runCli(
  program: Command,
  argv: readonly string[],
  context: CliContext = process,
): Promise<number> {
  try {
    requireUtf8(argv)
    await program.parseAsync(argv)
    return Number(context.exitCode ?? EXIT.ok)
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(error, context)
    // commander has printed the message.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage
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
  if (errorCode(error) === 'EPIPE') return EXIT.outputClosed
  const isDebug = Boolean(env[SETTINGS.debug.name])
  const message = isDebug ? inspect(error) : errorMessage(error).replaceAll(/\s*\n\s*/g, ' ')
  stderr.write(`${printableLines(message)}\n`)
  return error instanceof CliError ? error.exitCode : EXIT.failed
}

/** Throws a CliError (2) for a command line with other bytes, each of which Node has replaced by U+FFFD. */
function requireUtf8(argv: readonly string[]): void {
  if (!argv.some((word) => word.includes('\ufffd'))) return
  if (!isUtf8(readCommandLine()))
    throw new CliError('An argument is not UTF-8: convert it to UTF-8', EXIT.usage)
}

/** The words of this process as they were given; empty on a system without /proc. */
function readCommandLine(): Buffer {
  try {
    return readFileSync('/proc/self/cmdline')
  } catch {
    return Buffer.alloc(0)
  }
}
