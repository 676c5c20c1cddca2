import { Command } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import type { InitSystem, ServiceAction } from '../../services/init-system.ts'

const DONE: Record<ServiceAction, string> = { start: 'Started', stop: 'Stopped', restart: 'Restarted' }

/** `scriptify start`, `stop` or `restart`: an installed service, by the tool of its init system. */
export const createControlCommand = (
  action: ServiceAction,
  systems: readonly InitSystem[],
  { stdout }: CliContext,
): Command =>
  new Command(action)
    .description(`${action} an installed service (as root)`)
    .argument('<service>', 'as it was installed')
    .addHelpText('after', `\nExamples:\n  scriptify ${action} importer`)
    .action(async (name: string) => {
      const { controlService } = await import('../../services/control-service.ts')
      await controlService(name, action, systems)
      stdout.write(`${DONE[action]} ${name}\n`)
    })
