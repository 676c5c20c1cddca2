import { Command, Option } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import type { InitSystem } from '../../services/init-system.ts'

const EXAMPLES = `
A dash stands for what the init system does not tell; the memory of a service and a journal may be visible to root only.

Examples:
  scriptify services                  the state of each
  scriptify services --only-names     one name per line, for scripts
  scriptify services --json           an array, for programs`

interface Flags {
  onlyNames?: boolean
  json?: boolean
  root: string
}

/** `scriptify services`: what scriptify has installed for one of `systems`, and how it is. */
export function createServicesCommand(systems: readonly InitSystem[], context: CliContext): Command {
  return new Command('services')
    .description('list the installed services, with their state, last run and last log line')
    .option('--only-names', 'only names, one per line')
    .addOption(new Option('--json', 'as JSON').conflicts('onlyNames'))
    .option('--root <dir>', 'look in the file system mounted at this folder', '/')
    .addHelpText('after', EXAMPLES)
    .action(async ({ onlyNames = false, json = false, root: folder }: Flags) => {
      const { listServices } = await import('../../services/list-services.ts')
      const { printStatus, readStatus } = await import('../../services/service-status.ts')
      const { resolveRoot } = await import('../../services/folders.ts')
      const { printLines } = await import('../../io/print-lines.ts')
      const root = await resolveRoot(folder)
      const services = await listServices({ root, systems })
      const names = services.map(({ name }) => name)
      if (onlyNames) return printLines(context.stdout, names)
      await printStatus(await readStatus(services, { systems, root }), { json, context })
    })
}
