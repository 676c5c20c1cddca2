import { Command, Option } from 'commander'
import { RUNTIME_NAMES } from '../../classes/choose-runtime.ts'
import type { CliContext } from '../../io/cli-context.ts'
import type { TerminalOptions } from '../../terminal/front/start-terminal.ts'
import { collect } from '../option-values.ts'

const EXAMPLES = `
Exit codes: 0 ok, 1 the script failed, 2 wrong usage, 3 not found, 4 not permitted, 5 php missing or too old

Examples:
  scriptify terminal                                     a terminal in the project's language
  scriptify terminal --preload templates/scriptify/scriptify.php
  scriptify terminal importer --env APP_ENV=test         with the environment of the service "importer"
  scriptify terminal --execute 'strlen("é")' --runtime php
  echo 'console.log(1 + 1)' | scriptify terminal --runtime node   a script, as node runs it`

/** `scriptify terminal`: an interactive session in php or TypeScript, or a script from a pipe. */
export function createTerminalCommand(context: CliContext): Command {
  return new Command('terminal')
    .description('open an interactive terminal, or run a script from a pipe')
    .argument('[service]', 'load the environment of this installed service')
    .addOption(new Option('--runtime <name>', 'language (default: the project’s)').choices(RUNTIME_NAMES))
    .option(
      '-p, --preload <file>',
      'run this file first (default: templates/scriptify/scriptify.{php,ts}, else that of scriptify)',
    )
    .option('--no-preload', 'run no file first')
    .option('-e, --env <NAME=VALUE>', 'set an environment variable; repeatable', collect)
    .option('-r, --rootdir <dir>', 'the project’s folder (default: the nearest from this folder upward)')
    .option('-x, --execute <code>', 'evaluate this code, print its value, and exit')
    .option('--print', 'in a script, print the value of the last statement')
    .option('--no-history', 'neither read nor write the history file')
    .addHelpText('after', EXAMPLES)
    .action(async (service: string | undefined, options: TerminalOptions) => {
      const { startTerminal } = await import('../../terminal/front/start-terminal.ts')
      context.exitCode = await startTerminal(service, options, context)
    })
}
