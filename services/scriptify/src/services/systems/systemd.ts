import { accessSync, constants, existsSync, globSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CliError, EXIT, errorCode } from '../../io/cli-error.ts'
import type { ControlCommand, InitSystem } from '../init-system.ts'
import { command, optionalCommand, runCommand } from '../run-command.ts'
import { parseCalendarSchedule, toCalendarEvents } from './calendar.ts'
import { daemonReloadCommands, forgetUnitCommands, runsSystemd } from './systemctl.ts'
import { escapeSystemdValue, quoteSystemdWord } from './systemd-grammar.ts'
import { requireRunnable } from './systemd-requirements.ts'
import { state } from './systemd-state.ts'
import {
  findLinks,
  hasTimer,
  isForeignUnit,
  namesakes,
  stopGoneUnitCommands,
  TIMER_PATH,
  UNIT_FOLDER,
  unitOf,
} from './systemd-units.ts'

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

  unitPath: `${UNIT_FOLDER}/{name}.service`,
  unitMode: 0o644,
  namesakes,
  log: (name) => ({
    command: `journalctl -u ${name}`,
    read: ({ lines, follow, since }) => [
      ...(['journalctl', '--unit', `${name}.service`, '--no-pager'] as const),
      ...(Number.isFinite(lines) ? ['--lines', `${lines}`] : ['--no-tail']),
      ...['--output', 'short-iso', '--no-hostname', '--quiet'],
      // Messages of systemd about the service are left out, but not those of journald about dropped lines.
      ...['--identifier', name, '--identifier', 'systemd-journald'],
      ...(since === undefined ? [] : ['--since', `@${Math.floor(since.getTime() / 1000)}`]),
      ...(follow ? ['--follow'] : []),
    ],
    isReadable: () => process.geteuid?.() === 0 || globSync(JOURNALS).some(mayRead),
  }),

  refuses: {},
  schedule: {
    help: 'a timer, at times of cron or of OnCalendar, such as *-*-* 03:00 (default: none)',
    parse: (schedule) => (schedule === undefined ? undefined : parseCalendarSchedule(schedule)),
  },
  reasonAgainst: (action) => (action === 'start' ? absence() : absenceOfTool()),

  template: 'systemd',
  async render(service) {
    await requireRunnable(service)
    const { root, description, rootdir, command, schedule, after } = service
    return {
      ...service,
      description: escapeSystemdValue(description),
      rootdir: escapeSystemdValue(rootdir),
      command: joinWords(command),
      after: after.map((name) => (/\.[a-z]+$/.test(name) ? name : `${name}.service`)),
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
  launcher: undefined,

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
  stopCommands(name, { isGone }) {
    if (!runsSystemd()) return []
    // systemd keeps running a unit whose file is gone.
    if (isGone) return stopGoneUnitCommands(name)
    return [command('systemctl', 'stop', ...(hasTimer(name) ? [`${name}.timer`] : []), `${name}.service`)]
  },
  // systemd takes the time of the last run from it, and catches up on the next one.
  stateFiles: (name, root) =>
    isForeignUnit(`${name}.timer`, root) ? [] : [`/var/lib/systemd/timers/stamp-${name}.timer`],
  forgetCommands: (name) => [
    ...forgetUnitCommands(name),
    ...(runsSystemd() ? removeCacheCommands(name) : []),
  ],
  state,
  links: findLinks,
}

/** RestartSteps= came with systemd 254; an older one warns of it. */
async function hasRestartSteps(): Promise<boolean> {
  const { stdout } = await runCommand(['systemctl', '--version'], { timeoutMs: 20_000 })
  const [, version = '0'] = /^systemd (\d+)/.exec(stdout) ?? []
  return Number(version) >= 254
}

function absence(): string | undefined {
  if (runsSystemd()) return undefined
  return 'systemd does not run here; in a container make "scriptify run … --daemon" its command, or install with --template=initd and use "service"'
}

/** Commands that remove the cache. `rm` cannot be misled by links: the folder belongs to the account of the service. */
const removeCacheCommands = (name: string): ControlCommand[] => [
  optionalCommand('rm', '-rf', '--one-file-system', `${CACHE_FOLDER}/${name}`),
  // Unless another service has one.
  optionalCommand('rmdir', CACHE_FOLDER),
]

function mayRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** True where the folder is on a read-only file system: systemd starts no service whose CacheDirectory= it cannot create. */
function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return false
  } catch (error) {
    return errorCode(error) === 'EROFS'
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
