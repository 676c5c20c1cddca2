import { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { closestName } from './closest-name.ts'
import { createCompletionCommand } from './commands/completion.ts'
import { createControlCommands } from './commands/control.ts'
import { createEndpointCommand } from './commands/endpoint.ts'
import { createInstallCommand } from './commands/install.ts'
import { createLogsCommand } from './commands/logs.ts'
import { createMethodsCommand } from './commands/methods.ts'
import { createRunCommand } from './commands/run.ts'
import { createServicesCommand } from './commands/services.ts'
import { createStatusCommand } from './commands/status.ts'
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
    createMethodsCommand(),
    createInstallCommand(systems),
    createUninstallCommand(systems),
    createServicesCommand(systems),
    createStatusCommand(systems),
    createLogsCommand(systems),
    ...createControlCommands(systems),
    createEndpointCommand(),
    createCompletionCommand(program, systems),
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
  `${withHint(
    message
      .replace(/^error: /, '')
      .trim()
      .replaceAll('\n', ' '),
  )} `

/** What users of similar programs type. */
const MEANT: Record<string, string> = {
  add: 'install',
  call: 'run',
  console: 'terminal',
  create: 'install',
  curl: 'endpoint',
  delete: 'uninstall',
  disable: 'uninstall',
  enable: 'install --enable',
  exec: 'run',
  list: 'services',
  log: 'logs',
  ls: 'services',
  ps: 'services --status',
  remove: 'uninstall',
  repl: 'terminal',
  request: 'endpoint',
  rm: 'uninstall',
  shell: 'terminal',
}

/** commander suggests similar words only; this adds what a word or a value means here. */
function withHint(message: string): string {
  const [, command = ''] = /^unknown command '([^']*)'/.exec(message) ?? []
  if (Object.hasOwn(MEANT, command)) return `unknown command '${command}' (Did you mean ${MEANT[command]}?)`
  if (message.startsWith("too many arguments for 'run'"))
    return 'too many arguments: give each of the method with --arg'
  if (message.startsWith("unknown option '-v'")) return "unknown option '-v' (Did you mean --version?)"
  const [, value = '', choices = ''] = /'([^']*)' is invalid\. Allowed choices are (.*)\./.exec(message) ?? []
  const names = choices.split(', ')
  const meant = names.find((name) => name.startsWith(value)) ?? closestName(value, names)
  return value === '' || meant === undefined ? message : `${message} (Did you mean ${meant}?)`
}
