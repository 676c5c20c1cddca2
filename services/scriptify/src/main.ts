import { Command } from 'commander'
import { CliError } from './cli-error.ts'
import { createTerminalCommand } from './commands/terminal.ts'

const program = new Command('scriptify').addCommand(createTerminalCommand())
try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CliError)) throw error
  console.error(error.message)
  process.exitCode = error.exitCode
}
