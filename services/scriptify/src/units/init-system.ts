import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { type ServiceTemplate, SYSTEM_PATH } from './service.ts'

/** What answers on this machine. */
export interface InitSystem {
  /** As PID 1, not merely installed. */
  readonly systemd: boolean
  readonly upstart: boolean
  /** systemd's tool, which enables a unit also where systemd does not run. */
  readonly systemctl: boolean
  /** Debian's tool for the links in /etc/rc?.d. */
  readonly updateRcD: boolean
}

interface NewService {
  readonly name: string
  readonly template: ServiceTemplate
  readonly enable: boolean
  readonly start: boolean
}

/** A command for the init system; one that may fail is not spoken of when it does. */
export interface ControlCommand {
  readonly words: readonly [string, ...string[]]
  readonly mayFail?: boolean
}

/** Where files are only written, for a system that does not run here. */
export const NO_INIT_SYSTEM: InitSystem = {
  systemd: false,
  upstart: false,
  systemctl: false,
  updateRcD: false,
}

export const findInitSystem = (): InitSystem => ({
  systemd: existsSync('/run/systemd/system'),
  upstart: !existsSync('/run/systemd/system') && existsSync('/sbin/initctl') && existsSync('/etc/init'),
  systemctl: ['/usr/bin/systemctl', '/bin/systemctl'].some((path) => existsSync(path)),
  updateRcD: existsSync('/usr/sbin/update-rc.d'),
})

/** What makes the init system know a service that has been written, and then what starts it. */
export function commandsAfterInstall(
  { name, template, enable, start }: NewService,
  { systemd, upstart }: InitSystem,
): { announce: ControlCommand[]; start: ControlCommand[] } {
  const reload = systemd ? [command('systemctl', 'daemon-reload')] : []
  switch (template) {
    case 'systemd':
      return {
        announce: [...reload, ...(enable ? [command('systemctl', 'enable', `${name}.service`)] : [])],
        // restart, so that one that runs already gets what has been written
        start: start ? [command('systemctl', 'restart', `${name}.service`)] : [],
      }
    case 'initd':
      return {
        announce: [...reload, ...(enable ? [command('update-rc.d', name, 'defaults')] : [])],
        start: start ? [command('service', name, 'restart')] : [],
      }
    case 'upstart':
      return {
        announce: upstart ? [command('initctl', 'reload-configuration')] : [],
        start: start ? [attempt('stop', name), command('start', name)] : [],
      }
    case 'crond':
      return { announce: [], start: [] }
  }
}

/** Makes the init system see again what stood there before an installation that has been taken back. */
export function commandsAfterRollback(
  service: NewService & { replaces: boolean },
  system: InitSystem,
): ControlCommand[] {
  const commands = service.replaces
    ? commandsAfterInstall({ ...service, enable: false }, system).announce
    : commandsAfterRemoval(service, system)
  // It is the first failure that is to be spoken of.
  return commands.map(({ words }) => attempt(...words))
}

/** Stops and disables a service that is about to be removed. */
export function commandsBeforeRemoval(
  { name, template, legacy }: { name: string; template: ServiceTemplate; legacy: boolean },
  { systemd, upstart }: InitSystem,
): ControlCommand[] {
  switch (template) {
    case 'systemd':
      return systemd
        ? [
            command('systemctl', 'stop', `${name}.service`),
            attempt('systemctl', 'disable', `${name}.service`),
          ]
        : []
    case 'initd':
      return [
        // One that was written from elsewhere is not known yet.
        ...(systemd ? [command('systemctl', 'daemon-reload')] : []),
        // The original's script fails at whatever it is asked.
        legacy ? attempt('service', name, 'stop') : command('service', name, 'stop'),
      ]
    case 'upstart':
      return upstart ? [attempt('stop', name)] : []
    case 'crond':
      return []
  }
}

/** Makes the init system forget a service whose files are gone. */
export function commandsAfterRemoval(
  { name, template }: { name: string; template: ServiceTemplate },
  { systemd, upstart, updateRcD }: InitSystem,
): ControlCommand[] {
  const forget = systemd
    ? [command('systemctl', 'daemon-reload'), attempt('systemctl', 'reset-failed', `${name}.service`)]
    : []
  switch (template) {
    case 'systemd':
      return forget
    case 'initd':
      return [...(updateRcD ? [attempt('update-rc.d', name, 'remove')] : []), ...forget]
    case 'upstart':
      return upstart ? [command('initctl', 'reload-configuration')] : []
    case 'crond':
      return []
  }
}

/** Runs commands in their order; throws exit code 1 with what the first that fails says. */
export async function controlAll(commands: readonly ControlCommand[]): Promise<void> {
  for (const command of commands) await control(command)
}

async function control({ words, mayFail }: ControlCommand): Promise<void> {
  const [file, ...args] = words
  try {
    // A root who came by `su` may have no sbin in PATH.
    const env = { ...process.env, PATH: SYSTEM_PATH, SYSTEMD_PAGER: '', LC_ALL: 'C.UTF-8' }
    await promisify(execFile)(file, args, { env })
  } catch (error) {
    if (mayFail) return
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    const reason =
      said.split('\n')[0] || (error instanceof Error ? error.message.split('\n')[0] : 'it failed')
    throw new CliError(`${words.join(' ')}: ${reason}`, EXIT.failed)
  }
}

/** What systemd finds wrong with a unit that it has loaded; nothing where its tool for that is missing. */
export async function verifyUnit(name: string): Promise<string[]> {
  const unit = `${name}.service`
  const path = `/etc/systemd/system/${unit}`
  // It ends with 1 for some warnings, and speaks of other units as well.
  const said = await promisify(execFile)('systemd-analyze', ['verify', path], { timeout: 20_000 }).then(
    ({ stderr }) => stderr,
    (error: unknown) => (error instanceof Error && 'stderr' in error ? String(error.stderr) : ''),
  )
  return said.split('\n').filter((line) => line.includes(unit))
}

const command = (...words: ControlCommand['words']): ControlCommand => ({ words })
const attempt = (...words: ControlCommand['words']): ControlCommand => ({ words, mayFail: true })
