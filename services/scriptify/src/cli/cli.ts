import { closestName } from '@latchkey/text/closest-name.ts'
import { printable } from '@latchkey/text/printable.ts'
import { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { CliContext } from '../io/cli-context.ts'
import type { InitSystem, ServiceAction } from '../services/init-system.ts'

export interface CliOptions {
  /** Name of the command to run; without it all commands are loaded. */
  command?: string | undefined
  /** The init systems. Default: those of scriptify. */
  systems?: readonly InitSystem[]
  /**
   * The streams and the environment of the commands. Default: those of this process. `terminal` and `logs` always use its
   * streams.
   */
  context?: CliContext
}

type Systems = readonly InitSystem[]
type LoadSystems = () => Promise<Systems>

/** The command line. Parsing throws a CommanderError for wrong usage and a CliError for a failure. */
export async function createCli({ command, systems, context = process }: CliOptions = {}): Promise<Command> {
  const program = new Command('scriptify')
    .description('Terminals, methods and system services, in PHP and TypeScript')
    .version(manifest.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (message, write) => write(printable(oneLine(message))),
    })
    .showHelpAfterError('(see --help)')
    .addHelpText('after', EXAMPLES)
  const loadSystems = async () => systems ?? (await import('../services/init-systems.ts')).INIT_SYSTEMS
  // They show times, which cron and the journal count in the machine's zone.
  if (['services', 'status', 'logs'].includes(command ?? '')) delete context.env.TZ
  for (const load of commandsOf(command)) {
    const loaded = await load(loadSystems, context)
    // addCommand(), unlike command(), does not pass settings to the subcommand.
    program.addCommand(loaded.copyInheritedSettings(program))
  }
  return program
}

/** The commands in the order of the help. Each is loaded with what it imports. */
const COMMANDS: Record<string, (systems: LoadSystems, context: CliContext) => Promise<Command>> = {
  terminal: async (_systems, context) =>
    (await import('./commands/terminal.ts')).createTerminalCommand(context),
  run: async (_systems, context) => (await import('./commands/run.ts')).createRunCommand(context),
  methods: async (_systems, context) => (await import('./commands/methods.ts')).createMethodsCommand(context),
  install: async (systems, context) =>
    (await import('./commands/install.ts')).createInstallCommand(await systems(), context),
  uninstall: async (systems, context) =>
    (await import('./commands/uninstall.ts')).createUninstallCommand(await systems(), context),
  services: async (systems, context) =>
    (await import('./commands/services.ts')).createServicesCommand(await systems(), context),
  status: async (systems, context) =>
    (await import('./commands/status.ts')).createStatusCommand(await systems(), context),
  logs: async (systems, context) =>
    (await import('./commands/logs.ts')).createLogsCommand(await systems(), context),
  start: (systems, context) => loadControl('start', systems, context),
  stop: (systems, context) => loadControl('stop', systems, context),
  restart: (systems, context) => loadControl('restart', systems, context),
  endpoint: async (_systems, context) =>
    (await import('./commands/endpoint.ts')).createEndpointCommand(context),
  completion: async (systems, context) => {
    const load = async () => createCli({ systems: await systems() })
    return (await import('./commands/completion.ts')).createCompletionCommand(load, context)
  },
}

const loadControl = async (
  action: ServiceAction,
  systems: LoadSystems,
  context: CliContext,
): Promise<Command> =>
  (await import('./commands/control.ts')).createControlCommand(action, await systems(), context)

/** The commands to load: help, hints and a mistyped command need all of them. */
const commandsOf = (command = '') =>
  Object.hasOwn(COMMANDS, command)
    ? [COMMANDS[command]].filter((load) => load !== undefined)
    : Object.values(COMMANDS)

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

/** commander suggests similar words only; this adds what an option or a value means here. */
function withHint(message: string): string {
  if (message.startsWith("too many arguments for 'run'"))
    return 'too many arguments: give each of the method with --arg'
  if (message.startsWith("too many arguments for 'install'"))
    return 'too many arguments: name the method by --class'
  if (message.startsWith("unknown option '-v'")) return "unknown option '-v' (Did you mean --version?)"
  const [, value = '', choices = ''] = /'([^']*)' is invalid\. Allowed choices are (.*)\./.exec(message) ?? []
  const names = choices.split(', ')
  const meant = names.find((name) => name.startsWith(value)) ?? closestName(value, names)
  return value === '' || meant === undefined ? message : `${message} (Did you mean ${meant}?)`
}
