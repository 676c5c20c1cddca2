import { Command, Option } from 'commander'
import type { ListedService } from '../units/list-services.ts'

const EXAMPLES = `
Examples:
  scriptify services                  the template, name and file of each
  scriptify services --only-names     a name a line, for scripts
  scriptify services --status         also whether each runs, and starts at boot
  scriptify services --json           an array, for programs; with --status too`

interface Flags {
  onlyNames?: boolean
  json?: boolean
  status?: boolean
  root: string
}

/** `scriptify services`: what scriptify has installed. */
export function createServicesCommand(): Command {
  return new Command('services')
    .description('list the installed services')
    .option('--only-names', 'names only, one a line')
    .addOption(new Option('--json', 'as JSON').conflicts('onlyNames'))
    .addOption(new Option('--status', 'ask the init system how each is').conflicts('onlyNames'))
    .option('--root <dir>', 'look below this folder, where another system’s files are mounted', '/')
    .addHelpText('after', EXAMPLES)
    .action(async ({ onlyNames, json, status, root }: Flags) => {
      const { listServices } = await import('../units/list-services.ts')
      const { resolveRoot } = await import('../units/resolve-root.ts')
      const services = await listServices(await resolveRoot(root), { withState: status === true })
      if (json) console.log(JSON.stringify(services, undefined, 2))
      else for (const line of onlyNames ? namesOf(services) : describe(services)) console.log(line)
    })
}

/** A service of the original may have several templates. */
const namesOf = (services: readonly ListedService[]): string[] => [
  ...new Set(services.map(({ name }) => name)),
]

function describe(services: readonly ListedService[]): string[] {
  if (services.length === 0) return ['No service is installed']
  const width = Math.max(...services.map(({ name }) => name.length))
  return services.map(({ name, template, file, legacy, state, startsAtBoot }) => {
    const boot =
      startsAtBoot === true ? 'at boot' : startsAtBoot === false ? 'not at boot' : 'at boot: unknown'
    const columns = [
      template.padEnd(7),
      name.padEnd(width),
      ...(state === undefined ? [] : [state, boot]),
      file,
    ]
    return `${columns.join('  ')}${legacy ? '  (by the original scriptify)' : ''}`
  })
}
