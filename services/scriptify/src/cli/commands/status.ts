import { Command } from 'commander'
import type { InitSystem } from '../../units/init-system.ts'

const EXAMPLES = `
A dash stands for what the init system does not tell; the memory of a service and a journal may be visible to root only.

Examples:
  scriptify status               all services
  scriptify status importer      one of them
  scriptify status --json        an array, for programs`

/** `scriptify status`: what the init systems tell about the installed services. */
export function createStatusCommand(systems: readonly InitSystem[]): Command {
  return new Command('status')
    .description('show the state, uptime, restarts, memory and last log line of services')
    .argument('[service]', 'as it was installed')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action((name: string | undefined, { json = false }: { json?: boolean }) => show(name, json, systems))
}

async function show(name: string | undefined, json: boolean, systems: readonly InitSystem[]): Promise<void> {
  const { findServiceSystem } = await import('../../units/control-service.ts')
  const { readStatus, formatStatus } = await import('../../units/service-status.ts')
  if (name !== undefined) await findServiceSystem(name, systems)
  const services = await readStatus(systems)
  const chosen = name === undefined ? services : services.filter((service) => service.name === name)
  if (json) console.log(JSON.stringify(chosen, undefined, 2))
  else
    for (const line of formatStatus(chosen, process.stdout.columns ?? Number.POSITIVE_INFINITY))
      console.log(line)
}
