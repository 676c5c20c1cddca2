import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'
import type { InitSystem } from '../init-system.ts'
import { launcherFile, launcherLog } from '../paths.ts'
import { parseSchedule } from './crontab-schedule.ts'
import { launcherLogRotation } from './launcher-log-rotation.ts'

const EVERY_MINUTE = '* * * * *'

/** Jobs in /etc/cron.d, which cron reads within a minute. */
export const crond: InitSystem = {
  name: 'crond',
  examples: [
    "--template=crond cleaner --class Cleaner::run --rootdir /srv/shop --schedule '0 4 * * *' --arg 30",
  ],

  unitPath: '/etc/cron.d/{name}',
  unitMode: 0o644,
  namesakes: () => [],
  log: (name) => ({ file: launcherLog(name) }),

  refuses: {
    '--daemon': 'cron starts the method again by itself',
    '--interval': 'use --schedule',
    '--enable': 'cron reads it at once',
    '--start': 'cron reads it at once',
  },
  confines: false,
  scheduleHelp: 'five fields, or a name like @daily (default: every minute)',
  parseSchedule: (schedule = EVERY_MINUTE) => parseSchedule(schedule),
  checkHost: () => undefined,

  template: 'crond',
  render: ({ name, description, schedule }) => ({ description, schedule, launcher: launcherFile(name) }),
  extraFiles: [launcherLogRotation],
  launcher: { logs: true, locks: true },

  announce: () => [],
  start: () => [],
  control(name, action) {
    const instead =
      action === 'stop' ? `scriptify uninstall ${name} ends that` : 'scriptify run calls the method now'
    throw new CliError(`cron starts ${name} by its schedule: ${instead}`, EXIT.usage)
  },
  stop: () => [],
  forget: () => [],
  state: async () => ({ state: 'scheduled', startsAtBoot: true }),
}
