import { Command, Option } from 'commander'
import { RUNTIME_NAMES, type RuntimeName } from '../../classes/choose-runtime.ts'
import type { CliContext } from '../../io/cli-context.ts'

const EXAMPLES = `
Classes are found by scriptify.namespaces and by Composer's psr-4; none of the project's code is run for their list. A class is
loaded for the list of its methods, as for run.

Examples:
  scriptify methods                          the classes of this project
  scriptify methods Users                    the methods of a class, with the first line of their comments
  scriptify methods '\\App\\Report' --rootdir /srv/app`

interface Flags {
  rootdir?: string
  bootstrap?: string
  runtime?: RuntimeName
  json?: boolean
}

/** `scriptify methods`: what `run` can call. */
export function createMethodsCommand(context: CliContext): Command {
  return new Command('methods')
    .description('list the classes of a project, or the methods of a class')
    .argument('[class]', 'as for run, without a method')
    .option('-r, --rootdir <dir>', 'the project’s folder (default: as for run)')
    .option('-b, --bootstrap <file>', 'load this file first, as for run')
    .addOption(new Option('--runtime <name>', 'language (default: the project’s)').choices(RUNTIME_NAMES))
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (className: string | undefined, flags: Flags) => {
      const { printClasses, printMethods } = await import('../../run/print-methods.ts')
      if (className === undefined) await printClasses(flags, context)
      else context.exitCode = await printMethods(className, flags, context)
    })
}
