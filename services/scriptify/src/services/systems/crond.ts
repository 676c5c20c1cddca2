import { existsSync, globSync, readFileSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { type InitSystem, type ServiceState, UNCONFINED } from '../init-system.ts'
import { LOG_ROTATION, launcherFile, launcherLog, resultFile, unitFile } from '../paths.ts'
import { nextTimeOf, parseSchedule } from './crontab-schedule.ts'
import { runsSystemd } from './systemctl.ts'

const EVERY_MINUTE = '* * * * *'

/** Jobs in /etc/cron.d, which cron reads within a minute. */
export const crond: InitSystem = {
  name: 'crond',
  examples: [
    "--template=crond cleaner --class Cleaner::run --rootdir /srv/shop --schedule '0 4 * * *' --arg 30",
  ],

  unitPath: '/etc/cron.d/{name}',
  unitMode: 0o644,
  // A job may have the name of a package that runs no service.
  namesakes: () => [],
  log: (name) => ({ file: launcherLog(name) }),

  refuses: {
    '--daemon': 'cron starts the method again by itself',
    '--interval': 'use --schedule',
    '--enable': 'cron reads it at once',
    '--start': 'cron reads it at once',
    '--restart': 'cron starts the method again by itself',
    '--after': 'cron starts it by its schedule',
    ...UNCONFINED,
  },
  schedule: {
    help: 'five fields, or a name like @daily (default: every minute)',
    parse: (schedule = EVERY_MINUTE) => parseSchedule(schedule),
  },
  reasonAgainst: absence,

  template: 'crond',
  render: ({ name, description, schedule }) => ({ description, schedule, launcher: launcherFile(name) }),
  extraFiles: [LOG_ROTATION],
  launcher: { logs: true, locks: true },

  reloadCommands: () => [],
  controlCommands(name, action) {
    const instead =
      action === 'stop' ? `scriptify uninstall ${name} ends that` : 'scriptify run calls the method now'
    throw new CliError(`cron starts ${name} by its schedule: ${instead}`, EXIT.usage)
  },
  stopCommands: () => [],
  stateFiles: () => [],
  forgetCommands: () => [],
  async state(name) {
    const runs = absence() === undefined
    return {
      state: runs ? 'scheduled' : 'inactive',
      startsAtBoot: true,
      ...(await lastRun(name)),
      nextRun: runs ? await nextRun(name) : undefined,
    }
  },
  links: async () => [],
}

/** Reads what the launcher has written about its last run. */
async function lastRun(name: string): Promise<Pick<ServiceState, 'lastRun' | 'lastResult'>> {
  try {
    await using file = await open(resultFile(name))
    const code = Number(await file.readFile('utf8'))
    const { mtime } = await file.stat()
    return { lastRun: mtime.toISOString(), lastResult: code === 0 ? 'success' : `exit code ${code}` }
  } catch {
    return {}
  }
}

async function nextRun(name: string): Promise<string | undefined> {
  const text = await readFile(unitFile(crond, name), 'utf8')
  const [, schedule = ''] = /^(@\w+|(?:\S+ ){4}\S+) root /m.exec(text) ?? []
  return nextTimeOf(schedule)?.toISOString()
}

function absence(): string | undefined {
  if (runsCron()) return undefined
  return existsSync('/etc/init.d/cron')
    ? 'cron does not run here: service cron start'
    : 'cron does not run here; on Debian: apt-get install cron'
}

/**
 * True where cron runs here, or /proc hides the processes of other users. systemd-cron has no process: it turns the
 * jobs into timers.
 */
const runsCron = (): boolean =>
  !existsSync('/proc/1/comm') ||
  globSync('/proc/[0-9]*/comm').some((file) => /^(?:cron|crond|busybox)$/.test(textOf(file))) ||
  (runsSystemd() && globSync('/{usr/,}lib/systemd/system-generators/*cron*').length > 0)

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
