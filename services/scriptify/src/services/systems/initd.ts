import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { linksTo, namesIn } from '../folders.ts'
import { type ControlCommand, type InitSystem, type ServiceState, UNCONFINED } from '../init-system.ts'
import { LOG_ROTATION, launcherFile, launcherLog, pidFile } from '../paths.ts'
import { processFacts } from '../process-facts.ts'
import { command, optionalCommand, runCommand } from '../run-command.ts'
import type { Service } from '../service.ts'
import { quoteShellWord } from '../text.ts'
import { activeState, daemonReloadCommands, forgetUnitCommands, runsSystemd } from './systemctl.ts'
import { stopGoneUnitCommands } from './systemd-units.ts'

/** Scripts of SysV init, as Debian runs them; systemd generates a unit from each. */
export const initd: InitSystem = {
  name: 'initd',
  examples: ['--template=initd mailer --class Mailer::send --rootdir /srv/shop --env APP_ENV=prod --dry-run'],

  unitPath: '/etc/init.d/{name}',
  unitMode: 0o755,
  namesakes: (name) => [`/etc/init.d/${name}`],
  log: (name) => ({ file: launcherLog(name) }),

  refuses: { ...UNCONFINED, '--restart': 'SysV init starts no service again' },
  schedule: undefined,
  reasonAgainst(action) {
    if (action === 'enable')
      return hasUpdateRcD()
        ? undefined
        : 'update-rc.d is missing here; on Debian: apt-get install init-system-helpers'
    return existsSync('/lib/lsb/init-functions')
      ? undefined
      : '/lib/lsb/init-functions is missing here; on Debian: apt-get install sysvinit-utils'
  },

  template: 'initd',
  render: ({ name, root, description, command, interval, user, after }) => ({
    after: after.map((each) => each.replace(/\.service$/, '')),
    description,
    isRepeated: interval !== undefined,
    launcher: launcherFile(name),
    match: quoteMatch(matchProcess(command[0], { user, root })),
  }),
  extraFiles: [LOG_ROTATION],
  launcher: { logs: true, locks: false },

  reloadCommands: (name, { enable }) => [
    ...daemonReloadCommands(),
    ...(enable ? [command('update-rc.d', name, 'defaults')] : []),
  ],
  controlCommands: (name, action) => [...daemonReloadCommands(), command('service', name, action)],
  stopCommands: (name, { isGone }) => [
    // systemd may not know a script that was installed from another host.
    ...daemonReloadCommands(),
    ...(isGone ? stopWithoutScriptCommands(name) : [command('service', name, 'stop')]),
  ],
  stateFiles: () => [],
  forgetCommands: (name) => [
    ...(hasUpdateRcD() ? [optionalCommand('update-rc.d', name, 'remove')] : []),
    ...forgetUnitCommands(name),
  ],
  state,
  links: findLinks,
}

/**
 * Commands that stop a service whose script was removed, as the script did. A process of another program that has got its
 * pid is left.
 */
function stopWithoutScriptCommands(name: string): ControlCommand[] {
  if (runsSystemd()) return stopGoneUnitCommands(name)
  const launcher = readLauncher(name)
  const [, user] = /^set -- "[^"]+" --reuid='([^']+)'/m.exec(launcher) ?? []
  const [, program] = /^set -- '([^']+)'/m.exec(launcher) ?? []
  if (program === undefined) return []
  const match = matchProcess(program, { user, root: '/' })
  const stop = ['start-stop-daemon', '--stop', '--oknodo', '--retry=TERM/30/KILL/5'] as const
  return [optionalCommand(...stop, '--pidfile', pidFile(name), ...match)]
}

function readLauncher(name: string): string {
  try {
    return readFileSync(launcherFile(name), 'utf8')
  } catch {
    return ''
  }
}

/** Debian's tool for the links in /etc/rc?.d. */
const hasUpdateRcD = (): boolean => existsSync('/usr/sbin/update-rc.d')

/** The options of start-stop-daemon that tell the process from another one with its number. */
function matchProcess(
  program: string,
  { user, root }: Pick<Service, 'root'> & { user: string | undefined },
): [option: string, value: string] {
  // In a container root lacks CAP_SYS_PTRACE, and does not see which program another user's process executes.
  if (user !== undefined) return ['--user', user]
  // An upgrade of php changes the link, but not the program of what runs. Node gives itself another name.
  const isPhpLink =
    basename(program) === 'php' &&
    lstatSync(join(root, program), { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isPhpLink ? ['--name', 'php'] : ['--exec', program]
}

const quoteMatch = ([option, value]: [string, string]): string => `${option} ${quoteShellWord(value)}`

async function state(name: string): Promise<ServiceState> {
  const state = await (runsSystemd() ? activeState(name) : scriptState(name))
  const pid = state === 'active' ? await readFile(pidFile(name), 'utf8').catch(() => '') : ''
  return { state, startsAtBoot: await hasStartLink(name), ...(await processFacts(Number(pid))) }
}

/** A method that is called once leaves its pid file too, whether it succeeds or fails. */
const callsRepeatedly = (name: string): boolean =>
  /^set -- .*'\{"task":"call",.*"daemon":\{"interval":/m.test(readLauncher(name))

/** The state by the exit codes of LSB's `status`. */
async function scriptState(name: string): Promise<string> {
  const { code } = await runCommand(['service', name, 'status'], { timeoutMs: 20_000 })
  const ended = callsRepeatedly(name) ? 'failed' : 'inactive'
  const states: Record<number, string> = { 0: 'active', 1: ended, 2: ended, 3: 'inactive' }
  return states[code] ?? 'unknown'
}

async function hasStartLink(name: string): Promise<boolean> {
  const links = await Promise.all([...'2345'].map((level) => linksOfLevel(level, name, '/')))
  return links.flat().some((link) => basename(link).startsWith('S'))
}

async function findLinks(name: string, root: string): Promise<string[]> {
  const links = await Promise.all([...'0123456S'].map((level) => linksOfLevel(level, name, root)))
  return linksTo(links.flat(), `/etc/init.d/${name}`, root)
}

async function linksOfLevel(level: string, name: string, root: string): Promise<string[]> {
  const folder = join(root, `/etc/rc${level}.d`)
  return (await namesIn(folder))
    .filter((link) => /^[SK]\d\d/.test(link) && link.slice(3) === name)
    .map((link) => join(folder, link))
}
