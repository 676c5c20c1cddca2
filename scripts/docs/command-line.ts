import { createCli } from '../../services/scriptify/src/cli/cli.ts'

type Command = Awaited<ReturnType<typeof createCli>>

const WIDTH = 100

/** The commands of scriptify, and the arguments and options of each one that has options. */
export async function formatCommandLine(): Promise<string> {
  const commands = await readCommands(WIDTH)
  return commands
    .filter((command) => command.options.length > 0)
    .map((command) => `## ${titleOf(command)}\n\n\`\`\`\n${detailsOf(command)}\n\`\`\``)
    .join('\n\n')
}

/** The help from the arguments or options on: the list of commands has the usage and the purpose. */
const detailsOf = (command: Command): string =>
  command
    .helpInformation()
    .replace(/^.*?(?=^(?:Arguments|Options):)/ms, '')
    .trim()

/** Returns what `--help` of scriptify and of each command prints in a terminal of this width, with its notes and examples. */
export async function readHelp(width: number): Promise<{ title: string; help: string }[]> {
  const commands = await readCommands(width)
  return commands.map((command) => ({ title: titleOf(command), help: helpOf(command) }))
}

async function readCommands(width: number): Promise<Command[]> {
  const program = await createCli()
  const commands = [program, ...program.commands]
  // Every command has the option `--help`.
  for (const command of commands)
    command
      .helpOption(false)
      .configureOutput({ getOutHelpWidth: () => width, getOutHasColors: () => false })
      // The help of a command may show fewer.
      .configureHelp({ visibleOptions: ({ options }) => options.filter(({ hidden }) => !hidden) })
  return commands
}

const titleOf = (command: Command): string =>
  command.parent ? `${command.parent.name()} ${command.name()}` : command.name()

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (part) => {
      text += part
    },
  })
  command.outputHelp()
  return text.trim()
}
