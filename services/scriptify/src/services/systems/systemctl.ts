import { existsSync } from 'node:fs'
import type { ControlCommand } from '../init-system.ts'
import { command, optionalCommand, runCommand } from '../run-command.ts'

/** The properties that `stateIn` reads. */
export const STATE = ['ActiveState', 'SubState']

/** True where systemd is PID 1, not merely installed. */
export const runsSystemd = (): boolean => existsSync('/run/systemd/system')

export const daemonReloadCommands = (): ControlCommand[] =>
  runsSystemd() ? [command('systemctl', 'daemon-reload')] : []

/** Commands that make systemd forget a unit whose file is gone, also one that it generated from a script. */
export function forgetUnitCommands(name: string): ControlCommand[] {
  if (!runsSystemd()) return []
  return [...daemonReloadCommands(), optionalCommand('systemctl', 'reset-failed', `${name}.service`)]
}

/** Returns systemd's name for the state of a unit; `restarting` while it waits before it tries again. */
export const activeState = async (name: string): Promise<string> =>
  stateIn(await propertiesOf(`${name}.service`, STATE))

export const stateIn = (properties: ReadonlyMap<string, string>): string =>
  properties.get('SubState') === 'auto-restart' ? 'restarting' : (properties.get('ActiveState') ?? 'unknown')

/** Properties of a unit; none where systemd does not answer this user. */
export async function propertiesOf(unit: string, names: readonly string[]): Promise<Map<string, string>> {
  // Times are shown in the time zone of this process.
  const words = ['env', 'TZ=UTC', 'systemctl', 'show', unit, `--property=${names}`] as const
  const { stdout } = await runCommand(words, { timeoutMs: 20_000 })
  return new Map([...stdout.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
}
