import { createCli } from '../../services/scriptify/src/cli/cli.ts'

type Command = Awaited<ReturnType<typeof createCli>>

const WIDTH = 100

/** The help of scriptify and of each of its commands, as `--help` prints it. */
export async function formatCommandLine(): Promise<string> {
  const pages = await readHelp(WIDTH)
  return pages.map(({ title, help }) => `## ${title}\n\n\`\`\`\n${help}\n\`\`\``).join('\n\n')
}

/** The same for a terminal of another width. */
export async function readHelp(width: number): Promise<{ title: string; help: string }[]> {
  const program = await createCli()
  return [program, ...program.commands].map((command) => ({
    title: command.parent ? `${command.parent.name()} ${command.name()}` : command.name(),
    help: helpOf(command, width).trim(),
  }))
}

function helpOf(command: Command, width: number): string {
  let text = ''
  command.configureOutput({
    writeOut: (part) => {
      text += part
    },
    getOutHelpWidth: () => width,
    getOutHasColors: () => false,
  })
  // Every command has it.
  command.helpOption(false).outputHelp()
  return text
}
