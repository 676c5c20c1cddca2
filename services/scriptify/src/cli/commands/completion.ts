import { Argument, Command, Option } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import type { InitSystem } from '../../units/init-system.ts'
import { SHELLS, type Shell } from '../completion/shells.ts'

const EXAMPLES = `
Commands, options, services, classes and methods are completed. A class is loaded for the names of its methods.

Examples:
  source <(scriptify completion bash)      in ~/.bashrc
  source <(scriptify completion zsh)       in ~/.zshrc, after compinit
  scriptify completion fish | source       in ~/.config/fish/config.fish`

interface Flags {
  line?: string
  wordBreaks: string
}

interface Completed extends Pick<CliContext, 'env' | 'stdout'> {
  /** The command line with one command, if that is known, else with all. */
  program(command: string | undefined): Promise<Command>
  systems(): Promise<readonly InitSystem[]>
}

/** `scriptify completion`: the script of a shell; with `--line`, which that script passes, what the line may go on with. */
export function createCompletionCommand({ program, systems, env, stdout }: Completed): Command {
  return new Command('completion')
    .description('print the script that completes command lines in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addOption(new Option('--line <text>', 'the line up to the cursor').hideHelp())
    .addOption(new Option('--word-breaks <characters>', 'where bash cuts words').default('').hideHelp())
    .addHelpText('after', EXAMPLES)
    .action(async (shell: Shell, { line, wordBreaks: breaks }: Flags) => {
      if (line === undefined) {
        const { readCompletionScript } = await import('../completion/shells.ts')
        stdout.write(await readCompletionScript(shell))
        return
      }
      const { completeLine } = await import('../completion/complete-line.ts')
      const { formatReply } = await import('../completion/shells.ts')
      const { createSources } = await import('../completion/sources.ts')
      const candidates = await completeLine(line, program, createSources(systems, env))
      stdout.write(formatReply(shell, candidates, { line, breaks }))
    })
}
