import { Command, Option } from 'commander'

const EXAMPLES = `
Examples:
  scriptify services                  the template, name and file of each
  scriptify services --only-names     a name a line, for scripts
  scriptify services --json           an array, for programs`

interface Flags {
  onlyNames?: boolean
  json?: boolean
  root: string
}

/** `scriptify services`: what scriptify has installed. */
export function createServicesCommand(): Command {
  return new Command('services')
    .description('list the installed services')
    .option('--only-names', 'names only, one a line')
    .addOption(new Option('--json', 'as JSON').conflicts('onlyNames'))
    .option('--root <dir>', 'look below this folder, where another system’s files are mounted', '/')
    .addHelpText('after', EXAMPLES)
    .action(async ({ onlyNames, json, root }: Flags) => {
      const { listServices } = await import('../services/list-services.ts')
      const { resolveRoot } = await import('../services/resolve-root.ts')
      const services = await listServices(await resolveRoot(root))
      if (json) return console.log(JSON.stringify(services, undefined, 2))
      if (onlyNames)
        return [...new Set(services.map(({ name }) => name))].forEach((name) => void console.log(name))
      if (services.length === 0) return console.log('No service is installed')
      const width = Math.max(...services.map(({ name }) => name.length))
      for (const { name, template, file, legacy } of services) {
        console.log(
          `${template.padEnd(7)}  ${name.padEnd(width)}  ${file}${legacy ? '  (by the original scriptify)' : ''}`,
        )
      }
    })
}
