import { accessSync, constants, existsSync, globSync, lstatSync, readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { CliError, EXIT, errorCode } from '../../io/cli-error.ts'
import { linksTo, lstatIfAny, namesIn } from '../folders.ts'
import type { ControlCommand, InitSystem, ServiceState } from '../init-system.ts'
import { ownershipMark } from '../ownership.ts'
import { command, optionalCommand, runCommand } from '../run-command.ts'
import type { ServiceDefinition } from '../service-definition.ts'
import { hasNoncharacter } from '../text.ts'
import { parseCalendarSchedule, toCalendarEvents } from './calendar.ts'
import { escapeSystemdValue, quoteSystemdWord } from './systemd-grammar.ts'

const FOLDER = '/etc/systemd/system'
const TIMER_PATH = `${FOLDER}/{name}.timer`
const SEARCH_PATH = ['/usr/lib', '/lib', '/usr/local/lib', '/etc', '/run']
/** The units that start a service of their name, and that service. */
const KINDS = ['service', 'timer', 'socket', 'path']
/** The folder that CacheDirectory=scriptify names. */
const CACHE_FOLDER = '/var/cache/scriptify'
const JOURNALS = '/{run,var}/log/journal/*/system.journal'
/** LONG_LINE_MAX: systemd does not load a unit with a longer line. */
const MAX_COMMAND_BYTES = 1_048_000

export const systemd: InitSystem = {
  name: 'systemd',
  examples: [
    "--template=systemd importer --class '\\Jobs\\Importer::work' --rootdir /srv/shop --user app",
    '--template=systemd importer --class src/importer.ts#Importer::work --rootdir /srv/shop --enable --start',
    "--template=systemd cleaner --class Cleaner::run --rootdir /srv/shop --schedule '*-*-* 03:00' --enable --start",
  ],

  unitPath: `${FOLDER}/{name}.service`,
  unitMode: 0o644,
  namesakes: (name) =>
    SEARCH_PATH.flatMap((folder) =>
      // An admin may write a timer for a service of scriptify.
      (folder === '/etc' ? ['service'] : KINDS).map((kind) => `${folder}/systemd/system/${name}.${kind}`),
    ),
  reasonAgainstNamesake,
  log: (name) => ({
    command: `journalctl -u ${name}`,
    read: ({ lines, follow }) => [
      ...(['journalctl', '--unit', `${name}.service`, '--lines', `${lines}`, '--no-pager'] as const),
      ...['--output', 'short-iso', '--no-hostname', '--quiet'],
      // The message of systemd about it is left out.
      ...['--identifier', name],
      ...(follow ? ['--follow'] : []),
    ],
    isReadable: () => process.geteuid?.() === 0 || globSync(JOURNALS).some(mayRead),
  }),

  refuses: {},
  sandboxes: true,
  schedule: {
    help: 'a timer, by the same or by OnCalendar, such as *-*-* 03:00 (default: none)',
    parse: (schedule) => (schedule === undefined ? undefined : parseCalendarSchedule(schedule)),
  },
  reasonAgainst: (action) => (action === 'start' ? absence() : absenceOfTool()),

  template: 'systemd',
  async render(service, root) {
    await check(service)
    const { description, rootdir, command, schedule } = service
    return {
      ...service,
      description: escapeSystemdValue(description),
      rootdir: escapeSystemdValue(rootdir),
      command: joinWords(command),
      events: schedule === undefined ? undefined : toCalendarEvents(schedule),
      backsOff: root === '/' && (await hasRestartSteps()),
      cachesCode: basename(command[0]) === 'node' && !isReadOnly(join(root, dirname(CACHE_FOLDER))),
    }
  },
  extraFiles: [
    {
      path: TIMER_PATH,
      template: 'systemd-timer',
      isNeeded: ({ isScheduled }) => isScheduled,
      isOptional: false,
    },
  ],

  reloadCommands: (name, { enable, isScheduled }) => [
    ...daemonReloadCommands(),
    ...(enable ? [command('systemctl', 'enable', unitOf(name, isScheduled))] : []),
  ],
  controlCommands: (name, action, isScheduled = hasTimer(name)) => [
    // An admin may have edited a file by hand.
    ...daemonReloadCommands(),
    command('systemctl', action, unitOf(name, isScheduled)),
    // The run has not ended.
    ...(isScheduled && action === 'stop' ? [command('systemctl', 'stop', `${name}.service`)] : []),
  ],
  async hasFailed(name) {
    return !hasTimer(name) && FAILING.includes(await activeState(name))
  },
  async stopCommands(name, { isGone }) {
    if (!runsSystemd()) return []
    // systemd keeps running a unit whose file is gone.
    if (isGone) return stopGoneUnitCommands(name)
    const units = [
      ...(hasTimer(name) ? [`${name}.timer`] : []),
      ...((await runsNamesake(name)) ? [] : [`${name}.service`]),
    ]
    return units.length > 0 ? [command('systemctl', 'stop', ...units)] : []
  },
  // systemd takes the time of the last run from it, and catches up on the next one.
  stateFiles: (name, root) =>
    isForeignUnit(`${name}.timer`, root) ? [] : [`/var/lib/systemd/timers/stamp-${name}.timer`],
  forgetCommands: (name) => [
    ...forgetUnitCommands(name),
    ...(runsSystemd() ? removeCacheCommands(name) : []),
  ],
  verify,
  state,
  links: findLinks,
}

/** The unit that is enabled and started. */
const unitOf = (name: string, isScheduled: boolean): string => `${name}.${isScheduled ? 'timer' : 'service'}`

/** Whether the service has a timer of scriptify's; an admin may have written another. */
function hasTimer(name: string): boolean {
  const path = TIMER_PATH.replace('{name}', name)
  return existsSync(path) && readFileSync(path, 'utf8').includes(ownershipMark(name, systemd))
}

/** RestartSteps= came with systemd 254; an older one warns of it. */
async function hasRestartSteps(): Promise<boolean> {
  const { stdout } = await runCommand(['systemctl', '--version'], { timeoutMs: 20_000 })
  const [, version = '0'] = /^systemd (\d+)/.exec(stdout) ?? []
  return Number(version) >= 254
}

/** Whether systemd is PID 1, not merely installed. */
export const runsSystemd = (): boolean => existsSync('/run/systemd/system')

function absence(): string | undefined {
  if (runsSystemd()) return undefined
  return 'systemd does not run here; in a container make "scriptify run … --daemon" its command, or install with --template=initd and use "service"'
}

export const daemonReloadCommands = (): ControlCommand[] =>
  runsSystemd() ? [command('systemctl', 'daemon-reload')] : []

/** Commands that stop what still runs of a unit whose file is gone, unless another of its name takes its place. */
export const stopGoneUnitCommands = (name: string): ControlCommand[] =>
  [`${name}.timer`, `${name}.service`]
    .filter((unit) => !isForeignUnit(unit))
    .map((unit) => optionalCommand('systemctl', 'stop', unit))

/** Whether a unit of this name exists that scriptify did not write. */
const isForeignUnit = (unit: string, root = '/'): boolean =>
  SEARCH_PATH.map((folder) => join(root, folder, 'systemd/system', unit)).some((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return false
    // scriptify writes no link, and what one leads to may be outside of the root.
    if (stats.isSymbolicLink()) return true
    return !readFileSync(path, 'utf8').includes(ownershipMark(unit.split('.')[0] ?? '', systemd))
  })

/** Whether the process of the service that this one hides still runs: systemd keeps it under the unit of that name. */
async function runsNamesake(name: string): Promise<boolean> {
  if (!isForeignUnit(`${name}.service`)) return false
  const pid = (await propertiesOf(`${name}.service`, ['MainPID'])).get('MainPID') ?? '0'
  const commandLine = commandLineOf(pid)
  return commandLine !== '' && !commandLine.includes('{"task":"call"')
}

/** The command line of a process; empty for one that has ended. */
function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}

async function reasonAgainstNamesake(name: string, root: string): Promise<string | undefined> {
  const units = KINDS.map((kind) => `${name}.${kind}`)
  for (const folder of SEARCH_PATH.filter((each) => each !== '/etc')) {
    const [link] = await existingLinks(units, root, `${folder}/systemd/system`)
    // `systemctl disable` does not remove it, and it would start the service that hides this one.
    if (link !== undefined) return `${link} starts it at boot: choose another name`
  }
  const inUse: string[] = []
  for (const unit of units) {
    if ((await existingLinks([unit], root, FOLDER)).length > 0 || (root === '/' && (await isActive(unit)))) {
      inUse.push(unit)
    }
  }
  if (inUse.length === 0) return undefined
  const disable = root === '/' ? 'disable --now' : `--root=${root} disable`
  return `it is in use: run "systemctl ${disable} ${inUse.join(' ')}" first, or choose another name`
}

async function existingLinks(units: readonly string[], root: string, folder: string): Promise<string[]> {
  const paths = await linkPaths(units, root, folder)
  const stats = await Promise.all(paths.map((path) => lstatIfAny(path)))
  return paths.filter((_, index) => stats[index] !== undefined)
}

const isActive = async (unit: string): Promise<boolean> =>
  runsSystemd() && (await runCommand(['systemctl', 'is-active', unit])).code === 0

/** Commands that make systemd forget a unit whose file is gone, also one that it generated from a script. */
export function forgetUnitCommands(name: string): ControlCommand[] {
  if (!runsSystemd()) return []
  return [...daemonReloadCommands(), optionalCommand('systemctl', 'reset-failed', `${name}.service`)]
}

/** Commands that remove the cache. `rm` cannot be misled by links: the folder belongs to the account of the service. */
const removeCacheCommands = (name: string): ControlCommand[] => [
  optionalCommand('rm', '-rf', '--one-file-system', `${CACHE_FOLDER}/${name}`),
  // Unless another service has one.
  optionalCommand('rmdir', CACHE_FOLDER),
]

/** The states of a service that ended otherwise than it should. */
const FAILING = ['failed', 'restarting']

/** What systemd calls the state of a unit; `restarting` while it waits before it tries again. */
export const activeState = async (name: string): Promise<string> =>
  stateIn(await propertiesOf(`${name}.service`, STATE))

const STATE = ['ActiveState', 'SubState']

const stateIn = (properties: ReadonlyMap<string, string>): string =>
  properties.get('SubState') === 'auto-restart' ? 'restarting' : (properties.get('ActiveState') ?? 'unknown')

/** Properties of a unit; none where systemd does not answer this user. */
async function propertiesOf(unit: string, names: readonly string[]): Promise<Map<string, string>> {
  // Times are shown in the time zone of this process.
  const words = ['env', 'TZ=UTC', 'systemctl', 'show', unit, `--property=${names}`] as const
  const { stdout } = await runCommand(words, { timeoutMs: 20_000 })
  return new Map([...stdout.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))
}

function mayRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Whether the folder is on a read-only file system: systemd does not start a service whose CacheDirectory= it cannot create. */
function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return false
  } catch (error) {
    return errorCode(error) === 'EROFS'
  }
}

async function check(service: ServiceDefinition): Promise<void> {
  const { command, environment, possiblePaths, rootdir, privateTmp, schedule } = service
  const dropped = Object.keys(environment).find((name) => hasNoncharacter(environment[name] ?? ''))
  if (dropped !== undefined) {
    throw new CliError(
      `--env ${dropped}: systemd drops a value with a Unicode noncharacter, like U+FFFF; remove it`,
      EXIT.usage,
    )
  }
  if (schedule !== undefined) await requireCalendarEvents(toCalendarEvents(schedule))
  if (command[0].includes('$')) {
    throw new CliError(`systemd cannot run a program with $ in its path: ${command[0]}`, EXIT.usage)
  }
  if (command.some(hasNoncharacter)) {
    throw new CliError(
      'systemd takes no path and no --arg with a Unicode noncharacter, like U+FFFF; remove it',
      EXIT.usage,
    )
  }
  const hidden = privateTmp && [rootdir, ...possiblePaths].find((path) => /^\/(var\/)?tmp(\/|$)/.test(path))
  if (hidden) {
    throw new CliError(
      `A service with its own /tmp cannot see ${hidden}: move it, or add --no-private-tmp`,
      EXIT.usage,
    )
  }
}

/** systemd ignores an event that it cannot read, and the timer would never elapse. Skipped where its tool is missing. */
async function requireCalendarEvents(events: readonly string[]): Promise<void> {
  for (const event of events) {
    const { code, stdout, stderr } = await runCommand(['systemd-analyze', 'calendar', event], {
      timeoutMs: 20_000,
    })
    if (/Next elapse: never/.test(stdout)) {
      throw new CliError(`--schedule ${JSON.stringify(event)} is a time in the past only`, EXIT.usage)
    }
    if (code <= 0) continue
    const reason = stderr.trim().split('\n')[0] ?? ''
    throw new CliError(`--schedule ${JSON.stringify(event)} is not a time for systemd: ${reason}`, EXIT.usage)
  }
}

const absenceOfTool = (): string | undefined =>
  ['/usr/bin/systemctl', '/bin/systemctl'].some((path) => existsSync(path))
    ? undefined
    : 'systemctl is missing here; on Debian: apt-get install systemd'

function joinWords(command: readonly string[]): string {
  const words = command.map(quoteSystemdWord).join(' ')
  if (Buffer.byteLength(words) < MAX_COMMAND_BYTES) return words
  throw new CliError('The arguments make a line of over 1 MiB, which systemd does not read', EXIT.usage)
}

async function verify(name: string): Promise<string[]> {
  if (!runsSystemd()) return []
  // It exits with 1 for some warnings, and reports on other units as well.
  const { stderr } = await runCommand(
    ['systemd-analyze', 'verify', `${FOLDER}/${unitOf(name, hasTimer(name))}`],
    {
      timeoutMs: 20_000,
    },
  )
  return stderr.split('\n').filter((line) => new RegExp(`${name}\\.(service|timer)`).test(line))
}

async function state(name: string): Promise<ServiceState> {
  if (!runsSystemd()) return { state: 'unknown', startsAtBoot: 'unknown' }
  const isScheduled = hasTimer(name)
  const [enabled, properties, timer] = await Promise.all([
    runCommand(['systemctl', 'is-enabled', unitOf(name, isScheduled)], { timeoutMs: 20_000 }),
    propertiesOf(`${name}.service`, [
      ...STATE,
      'ActiveEnterTimestampMonotonic',
      'NRestarts',
      'MemoryCurrent',
      'Result',
      'ExecMainExitTimestamp',
    ]),
    isScheduled
      ? propertiesOf(`${name}.timer`, [...STATE, 'LastTriggerUSec', 'NextElapseUSecRealtime'])
      : NO_TIMER,
  ])
  const state = stateIn(properties)
  const facts = factsIn(properties)
  return {
    state: state === 'inactive' && stateIn(timer) === 'active' ? 'scheduled' : state,
    // systemd does not answer every user.
    startsAtBoot: enabled.stdout.trim() === '' ? 'unknown' : enabled.code === 0,
    ...(state === 'active' ? facts : { restarts: facts.restarts }),
    ...lastRunIn(properties, timer),
  }
}

const NO_TIMER: ReadonlyMap<string, string> = new Map()

function lastRunIn(
  service: ReadonlyMap<string, string>,
  timer: ReadonlyMap<string, string>,
): Pick<ServiceState, 'lastResult' | 'lastRun' | 'nextRun'> {
  const endedAt = toIsoTime(service.get('ExecMainExitTimestamp'))
  return {
    // A service that has not run since the boot has the result of a success.
    lastResult: endedAt && service.get('Result'),
    lastRun: toIsoTime(timer.get('LastTriggerUSec')) ?? endedAt,
    nextRun: toIsoTime(timer.get('NextElapseUSecRealtime')),
  }
}

/** Reads `Wed 2026-11-25 03:00:00 UTC`; systemd writes nothing for a time that there is not. */
function toIsoTime(text = ''): string | undefined {
  const [, day, time] = /^\w+ (\S+) (\S+) UTC$/.exec(text) ?? []
  return day === undefined ? undefined : `${day}T${time}Z`
}

/** What systemd counts and measures; it writes `[not set]` for what it does not know. */
function factsIn(
  properties: ReadonlyMap<string, string>,
): Pick<ServiceState, 'uptimeSeconds' | 'restarts' | 'memoryBytes'> {
  const numberOf = (property: string) => {
    const text = properties.get(property) ?? ''
    // The largest number stands for infinity.
    return /^\d+$/.test(text) && text !== '18446744073709551615' ? Number(text) : undefined
  }
  const since = numberOf('ActiveEnterTimestampMonotonic')
  return {
    uptimeSeconds: since ? Math.max(0, Math.floor(uptime() - since / 1e6)) : undefined,
    restarts: numberOf('NRestarts'),
    memoryBytes: numberOf('MemoryCurrent'),
  }
}

async function findLinks(name: string, root: string): Promise<string[]> {
  const links = [`${name}.service`, `${name}.timer`].map(async (unit) =>
    linksTo(await linkPaths([unit], root, FOLDER), `${FOLDER}/${unit}`, root),
  )
  return (await Promise.all(links)).flat()
}

/** The paths in a folder at which an enabled unit has a link. */
async function linkPaths(units: readonly string[], root: string, folder: string): Promise<string[]> {
  const groups = (await namesIn(join(root, folder))).filter((group) => /\.(wants|requires)$/.test(group))
  return groups.flatMap((group) => units.map((unit) => join(root, folder, group, unit)))
}
