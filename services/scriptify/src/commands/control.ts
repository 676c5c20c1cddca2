import { Command } from 'commander'
import { type InitSystem, SERVICE_ACTIONS, type ServiceAction } from '../units/init-system.ts'

const DONE: Record<ServiceAction, string> = { start: 'Started', stop: 'Stopped', restart: 'Restarted' }

/** `scriptify start`, `stop` and `restart`: an installed service, by the tool of its init system. */
export const createControlCommands = (systems: readonly InitSystem[]): Command[] =>
  SERVICE_ACTIONS.map((action) =>
    new Command(action)
      .description(`${action} an installed service (as root)`)
      .argument('<service>', 'as it was installed')
      .addHelpText('after', `\nExamples:\n  scriptify ${action} importer`)
      .action((name: string) => control(name, action, systems)),
  )

async function control(name: string, action: ServiceAction, systems: readonly InitSystem[]): Promise<void> {
  const { findServiceSystem } = await import('../units/find-service.ts')
  const { controlAll } = await import('../units/control.ts')
  const { requireRoot } = await import('../units/require-root.ts')
  const system = await findServiceSystem(name, systems)
  const commands = system.control(name, action)
  requireRoot(action)
  await controlAll(commands)
  console.log(`${DONE[action]} ${name}`)
}
