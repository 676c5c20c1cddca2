import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'
import { ask, attempt, command } from '../control.ts'
import { linksTo, namesIn } from '../folders.ts'
import type { InitSystem } from '../init-system.ts'
import { launcherFile, launcherLog, pidFile } from '../paths.ts'
import { processFacts } from '../process-facts.ts'
import type { ServiceDefinition } from '../service-definition.ts'
import { quoteShellWord } from '../shell-word.ts'
import { launcherLogRotation } from './launcher-log-rotation.ts'
import { activeState, daemonReload, forgetUnit, runsSystemd } from './systemd.ts'

/** Scripts of SysV init, as Debian runs them; systemd generates a unit from each. */
export const initd: InitSystem = {
  name: 'initd',
  examples: ['--template=initd mailer --class Mailer::send --rootdir /srv/shop --env APP_ENV=prod --dry-run'],

  unitPath: '/etc/init.d/{name}',
  unitMode: 0o755,
  namesakes: (name) => [`/etc/init.d/${name}`],
  log: (name) => ({ file: launcherLog(name) }),

  refuses: {},
  confines: false,
  checkHost({ enable }) {
    if (enable && !hasUpdateRcD())
      throw new CliError('--enable: update-rc.d is missing on this machine', EXIT.usage)
  },

  template: 'initd',
  render: ({ name, description, command, daemon, user }) => ({
    description,
    daemon,
    launcher: launcherFile(name),
    match: matchProcess({ command, user }),
  }),
  extraFiles: [launcherLogRotation],
  launcher: { logs: true, locks: false },

  announce: (name, { enable }) => [
    ...daemonReload(),
    ...(enable ? [command('update-rc.d', name, 'defaults')] : []),
  ],
  start: (name) => [command('service', name, 'restart')],
  control: (name, action) => [...daemonReload(), command('service', name, action)],
  startHint: (name, { replaces }) => `service ${name} ${replaces ? 'restart' : 'start'}`,
  stop: (name, { legacy }) => [
    // systemd may not know a script that was installed from another host.
    ...daemonReload(),
    // The original's script fails whatever it is asked.
    legacy ? attempt('service', name, 'stop') : command('service', name, 'stop'),
  ],
  forget: (name) => [
    ...(hasUpdateRcD() ? [attempt('update-rc.d', name, 'remove')] : []),
    ...forgetUnit(name),
  ],
  async state(name) {
    const state = await (runsSystemd() ? activeState(name) : scriptState(name))
    const pid = state === 'active' ? await readFile(pidFile(name), 'utf8').catch(() => '') : ''
    return { state, startsAtBoot: await hasStartLink(name), ...(await processFacts(Number(pid))) }
  },
  links: findLinks,
}

/** Debian's tool for the links in /etc/rc?.d. */
const hasUpdateRcD = (): boolean => existsSync('/usr/sbin/update-rc.d')

/** The options of start-stop-daemon that tell the process from another one with its number. */
function matchProcess({ command, user }: Pick<ServiceDefinition, 'command' | 'user'>): string {
  // Without CAP_SYS_PTRACE, as in a container, root does not see which program another user's process executes.
  return user === undefined ? `--exec ${quoteShellWord(command[0])}` : `--user ${quoteShellWord(user)}`
}

/** From the exit codes of LSB's `status`. */
async function scriptState(name: string): Promise<string> {
  const { code } = await ask(['service', name, 'status'], { timeoutMs: 20_000 })
  const states: Record<number, string> = { 0: 'active', 1: 'failed', 2: 'failed', 3: 'inactive' }
  return states[code] ?? 'unknown'
}

async function hasStartLink(name: string): Promise<boolean> {
  const links = await Promise.all([...'2345'].map((level) => linksOfLevel(level, name, '/')))
  return links.flat().some((link) => basename(link).startsWith('S'))
}

async function findLinks(name: string, root: string): Promise<string[]> {
  const links = await Promise.all([...'0123456S'].map((level) => linksOfLevel(level, name, root)))
  return linksTo(links.flat(), name)
}

async function linksOfLevel(level: string, name: string, root: string): Promise<string[]> {
  const folder = join(root, `/etc/rc${level}.d`)
  return (await namesIn(folder))
    .filter((link) => /^[SK]\d\d/.test(link) && link.slice(3) === name)
    .map((link) => join(folder, link))
}
