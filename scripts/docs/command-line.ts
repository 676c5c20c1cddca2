import { createCli } from '../../services/scriptify/src/cli/cli.ts'

type Command = Awaited<ReturnType<typeof createCli>>

const WIDTH = 100

/** The help of scriptify and of each of its commands, as `--help` prints it. */
export async function formatCommandLine(): Promise<string> {
  const program = await createCli()
  return [program, ...program.commands].map(formatCommand).join('\n\n')
}

function formatCommand(command: Command): string {
  const title = command.parent ? `${command.parent.name()} ${command.name()}` : command.name()
  return `## ${title}\n\n\`\`\`\n${helpOf(command).trim()}\n\`\`\``
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (part) => {
      text += part
    },
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return text
}
