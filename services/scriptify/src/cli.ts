import { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { createEndpointCommand } from './commands/endpoint.ts'
import { createInstallCommand } from './commands/install.ts'
import { createRunCommand } from './commands/run.ts'
import { createServicesCommand } from './commands/services.ts'
import { createTerminalCommand } from './commands/terminal.ts'
import { createUninstallCommand } from './commands/uninstall.ts'
import type { InitSystem } from './units/init-system.ts'
import { INIT_SYSTEMS } from './units/init-systems.ts'

/** The command line. Parsing throws a CommanderError for wrong usage and a CliError for a failure. */
export function createCli(systems: readonly InitSystem[] = INIT_SYSTEMS): Command {
  const program = new Command('scriptify')
    .description('Terminals, methods and system services, in PHP and TypeScript')
    .version(manifest.version)
    .exitOverride()
    .configureOutput({ outputError: (message, write) => write(oneLine(message)) })
    .showHelpAfterError('(see --help)')
    .addHelpText('after', EXAMPLES)
  for (const command of [
    createTerminalCommand(),
    createRunCommand(),
    createInstallCommand(systems),
    createUninstallCommand(systems),
    createServicesCommand(systems),
    createEndpointCommand(),
  ]) {
    // addCommand(), unlike command(), does not pass settings to the subcommand.
    program.addCommand(command.copyInheritedSettings(program))
  }
  return program
}

const EXAMPLES = `
Examples:
  scriptify terminal               a prompt in the project's language
  scriptify run Users::list        a method of one of its classes
  scriptify services               the installed services
  scriptify run --help             the options of a command, with examples`

const oneLine = (message: string): string =>
  `${message
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ')} `
