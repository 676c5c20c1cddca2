import { Argument, Command } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import { formatCompletion, SHELLS, type Shell } from '../completion.ts'

const EXAMPLES = `
Commands, options and the names of services are completed.

Examples:
  source <(scriptify completion bash)      in ~/.bashrc
  source <(scriptify completion zsh)       in ~/.zshrc, after compinit
  scriptify completion fish | source       in ~/.config/fish/config.fish`

/** `scriptify completion`: the script of a shell; `load` gives the program with all commands. */
export const createCompletionCommand = (
  load: () => Promise<Command>,
  { stdout }: Pick<CliContext, 'stdout'>,
): Command =>
  new Command('completion')
    .description('print the script that completes command lines in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText('after', EXAMPLES)
    .action(async (shell: Shell) => void stdout.write(formatCompletion(await load(), shell)))
