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
  const { findServiceSystem } = await import('../../units/control-service.ts')
  const { controlAll } = await import('../../units/control.ts')
  const { startService } = await import('../../units/control-service.ts')
  const { requireRoot } = await import('../../units/control-service.ts')
  const system = await findServiceSystem(name, systems)
  const commands = system.control(name, action)
  requireRoot(action)
  if (action === 'stop') await controlAll(commands)
  else await startService({ name, system, commands, failure: `${name} does not start` })
  console.log(`${DONE[action]} ${name}`)
}
