import { Command } from 'commander'
import { addOptions } from './add-options.ts'
import type { OptionValues } from './plain-line.ts'
import { TERMINAL_OPTIONS, toTerminalOptions } from './terminal-options.ts'

const EXAMPLES = `
Exit codes: 0 ok, 1 a statement failed, 2 wrong usage, 3 not found, 4 not permitted, 5 php missing or too old

Examples:
  scriptify terminal                                     a terminal in the project's language
  scriptify terminal --preload templates/scriptify/scriptify.php
  scriptify terminal importer --env APP_ENV=test         with the environment of the service "importer"
  scriptify terminal --execute 'strlen("é")' --runtime php
  echo 'console.log(1 + 1)' | scriptify terminal --runtime node   a script: no prompt, exit code 1 at the first failure`

/** `scriptify terminal`: an interactive session in php or TypeScript, or a script from a pipe. */
export function createTerminalCommand(): Command {
  const command = new Command('terminal')
    .description('open an interactive terminal, or run statements from a pipe')
    .argument('[service]', 'load the environment of this installed service')
  return addOptions(command, TERMINAL_OPTIONS)
    .addHelpText('after', EXAMPLES)
    .action(async (service: string | undefined, values: OptionValues) => {
      const { startTerminal } = await import('../../terminal/start-terminal.ts')
      process.exitCode = await startTerminal(toTerminalOptions(service, values))
    })
}
