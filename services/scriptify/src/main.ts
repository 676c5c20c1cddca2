import { type PlainLine, readPlainLine } from './cli/commands/plain-line.ts'
import { TERMINAL_OPTIONS, toTerminalOptions } from './cli/commands/terminal-options.ts'
import { exitOnOutputError, runReported } from './cli/run-reported.ts'

const [, , command, ...words] = process.argv
exitOnOutputError()
// A prompt is waited for: commander, which reads every other line, would take a third of the time to it.
const terminal = command === 'terminal' ? readPlainLine(words, TERMINAL_OPTIONS) : undefined
process.exitCode = await (terminal === undefined ? runCommand() : openTerminal(terminal))

function openTerminal({ operand, values }: PlainLine): Promise<number> {
  return runReported(async () => {
    const { startTerminal } = await import('./terminal/start-terminal.ts')
    process.exitCode = await startTerminal(toTerminalOptions(operand, values))
  }, process)
}

async function runCommand(): Promise<number> {
  const { createCli } = await import('./cli/cli.ts')
  const { readArgv } = await import('./cli/read-argv.ts')
  const { runCli } = await import('./cli/run-cli.ts')
  return runCli(await createCli({ command }), readArgv())
}
