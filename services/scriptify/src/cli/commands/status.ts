import { Command } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import { printLines } from '../../io/print-lines.ts'
import type { InitSystem } from '../../units/init-system.ts'
import type { ServiceStatus } from '../../units/service-status.ts'

const EXAMPLES = `
A dash stands for what the init system does not tell; the memory of a service and a journal may be visible to root only.

Examples:
  scriptify status               all services
  scriptify status importer      one of them
  scriptify status --json        an array, for programs`

/** `scriptify status`: what the init systems tell about the installed services. */
export function createStatusCommand(systems: readonly InitSystem[], { stdout, stderr }: CliContext): Command {
  return new Command('status')
    .description('show the state, uptime, restarts, memory and last log line of services')
    .argument('[service]', 'as it was installed')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string | undefined, { json = false }: { json?: boolean }) => {
      const { formatStatus } = await import('../../units/service-status.ts')
      const { requireReadableEnvironment } = await import('../../units/control-service.ts')
      const services = await readStatusOf(name, systems)
      const lines = json
        ? [JSON.stringify(services, undefined, 2)]
        : formatStatus(services, stdout.columns ?? Number.POSITIVE_INFINITY)
      await printLines(stdout, lines)
      for (const { name: service } of services)
        await requireReadableEnvironment(service).catch((error: Error) => printLines(stderr, [error.message]))
    })
}

/** The status of the named service, else of all; throws a CliError (3) for an unknown one. */
async function readStatusOf(
  name: string | undefined,
  systems: readonly InitSystem[],
): Promise<ServiceStatus[]> {
  const { findServiceSystem } = await import('../../units/control-service.ts')
  const { readStatus } = await import('../../units/service-status.ts')
  if (name !== undefined) await findServiceSystem(name, systems)
  const services = await readStatus(systems)
  return name === undefined ? services : services.filter((service) => service.name === name)
}
