import { Command, Option } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import type { InitSystem } from '../../units/init-system.ts'
import { parseNumberUpTo } from '../option-values.ts'

const EXAMPLES = `
Examples:
  scriptify logs importer                  the last 50 lines
  scriptify logs importer --lines 500
  scriptify logs importer --follow         new lines too, until Ctrl-C`

interface Flags {
  lines: number
  follow?: boolean
}

/** `scriptify logs`: what an installed service has written, by the system's own tools. */
export function createLogsCommand(systems: readonly InitSystem[], context: CliContext): Command {
  return new Command('logs')
    .description('show what an installed service has written')
    .argument('<service>', 'as it was installed')
    .addOption(
      new Option('-n, --lines <number>', 'the last lines').argParser(parseNumberUpTo(9_999_999)).default(50),
    )
    .option('-f, --follow', 'go on with new lines until Ctrl-C')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, { lines, follow = false }: Flags) => {
      const { findServiceSystem } = await import('../../units/control-service.ts')
      const { printLog } = await import('../../units/service-log.ts')
      const { env, stdout } = context
      const system = await findServiceSystem(name, systems)
      context.exitCode = await printLog(name, system, { lines, follow, env, stdout })
    })
}
