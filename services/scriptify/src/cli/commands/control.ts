import { Command } from 'commander'
import type { InitSystem, ServiceAction } from '../../units/init-system.ts'

const DONE: Record<ServiceAction, string> = { start: 'Started', stop: 'Stopped', restart: 'Restarted' }

/** `scriptify start`, `stop` or `restart`: an installed service, by the tool of its init system. */
export const createControlCommand = (action: ServiceAction, systems: readonly InitSystem[]): Command =>
  new Command(action)
    .description(`${action} an installed service (as root)`)
    .argument('<service>', 'as it was installed')
    .addHelpText('after', `\nExamples:\n  scriptify ${action} importer`)
    .action((name: string) => control(name, action, systems))

async function control(name: string, action: ServiceAction, systems: readonly InitSystem[]): Promise<void> {
  const { controlService } = await import('../../units/control-service.ts')
  await controlService(name, action, systems)
  console.log(`${DONE[action]} ${name}`)
}
