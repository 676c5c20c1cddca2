import { Command } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import type { InitSystem } from '../../services/init-system.ts'

const EXAMPLES = `
It exits as systemctl status does: 0 for a service that is active or scheduled, 3 for another, 4 for an unknown one.
scriptify services shows all.

Examples:
  scriptify status importer
  scriptify status importer --json      an array, for programs`

/** The exit code of systemctl for a unit that does not exist. */
const UNKNOWN = 4

/** `scriptify status`: what the init system tells about an installed service. */
export function createStatusCommand(systems: readonly InitSystem[], context: CliContext): Command {
  return new Command('status')
    .description('show the state, uptime, restarts, memory, last run and last log line of a service')
    .argument('<service>', 'as it was installed')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, { json = false }: { json?: boolean }) => {
      const { CliError, EXIT } = await import('../../io/cli-error.ts')
      const { findService } = await import('../../services/control-service.ts')
      const { exitCodeOf, printStatus, readStatus } = await import('../../services/service-status.ts')
      const service = await findService(name, systems).catch((error: unknown) => {
        // 3 says that a service does not run.
        const isUnknown = error instanceof CliError && error.exitCode === EXIT.notFound
        throw isUnknown ? new CliError(error.message, UNKNOWN) : error
      })
      const services = await readStatus([service], { systems })
      await printStatus(services, { json, context })
      context.exitCode = exitCodeOf(services)
    })
}
