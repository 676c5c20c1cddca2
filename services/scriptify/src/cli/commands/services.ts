import { Command, Option } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import { printLines } from '../../io/print-lines.ts'
import type { InitSystem } from '../../units/init-system.ts'
import type { ListedService } from '../../units/list-services.ts'

const EXAMPLES = `
scriptify status shows whether each runs, and starts at boot.

Examples:
  scriptify services                  the template, name and file of each
  scriptify services --only-names     one name per line, for scripts
  scriptify services --json           an array, for programs`

interface Flags {
  onlyNames?: boolean
  json?: boolean
  root: string
}

/** `scriptify services`: what scriptify has installed for one of `systems`. */
export function createServicesCommand(systems: readonly InitSystem[], { stdout }: CliContext): Command {
  return new Command('services')
    .description('list the installed services')
    .option('--only-names', 'only names, one per line')
    .addOption(new Option('--json', 'as JSON').conflicts('onlyNames'))
    .option('--root <dir>', 'look below this folder, where another host’s files are mounted', '/')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: Flags) => {
      await printLines(stdout, await list(flags, systems))
    })
}

/** The lines of the list. */
async function list({ onlyNames, json, root }: Flags, systems: readonly InitSystem[]): Promise<string[]> {
  const { listServices } = await import('../../units/list-services.ts')
  const { resolveRoot } = await import('../../units/folders.ts')
  const services = await listServices({ root: await resolveRoot(root), systems })
  if (json) return [JSON.stringify(services, undefined, 2)]
  return onlyNames ? namesOf(services) : describe(services, systems)
}

const namesOf = (services: readonly ListedService[]): string[] => services.map(({ name }) => name)

function describe(services: readonly ListedService[], systems: readonly InitSystem[]): string[] {
  if (services.length === 0) return ['No service is installed']
  const templateWidth = widest(systems)
  const nameWidth = widest(services)
  return services.map(
    ({ name, template, file }) => `${template.padEnd(templateWidth)}  ${name.padEnd(nameWidth)}  ${file}`,
  )
}

const widest = (named: readonly { name: string }[]): number =>
  Math.max(...named.map(({ name }) => name.length))
