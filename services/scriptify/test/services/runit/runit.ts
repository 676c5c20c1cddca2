import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { linksTo } from '../../../src/services/folders.ts'
import { type InitSystem, UNCONFINED } from '../../../src/services/init-system.ts'
import { LOG_ROTATION, launcherFile, launcherLog } from '../../../src/services/paths.ts'
import { command, optionalCommand, runCommand } from '../../../src/services/run-command.ts'

/** A fifth init system. Its unit is a folder: runit starts `run` in it, and starts at boot what /etc/service links to. */
export const runit: InitSystem = {
  name: 'runit',
  examples: ['--template=runit mailer --class Mailer::send --rootdir /srv/shop'],

  unitPath: '/etc/sv/{name}/run',
  unitMode: 0o755,
  namesakes: () => [],
  log: (name) => ({ file: launcherLog(name) }),

  refuses: UNCONFINED,
  schedule: undefined,
  reasonAgainst: (action) => (action === 'enable' || runsRunit() ? undefined : 'runit does not run here'),

  template: join(import.meta.dirname, 'run.template'),
  render: ({ name, description }) => ({ description, launcher: launcherFile(name) }),
  extraFiles: [LOG_ROTATION],
  launcher: { logs: true, locks: false },

  reloadCommands: (name, { enable }) =>
    enable ? [command('ln', '-sfn', `/etc/sv/${name}`, `/etc/service/${name}`)] : [],
  controlCommands: (name, action) => [command('sv', action, name)],
  stopCommands: (name) => (runsRunit() ? [optionalCommand('sv', 'stop', name)] : []),
  stateFiles: () => [],
  forgetCommands: () => [],
  async state(name) {
    const { code } = await runCommand(['sv', 'check', name], { timeoutMs: 20_000 })
    return { state: code === 0 ? 'active' : 'unknown', startsAtBoot: existsSync(`/etc/service/${name}`) }
  },
  links: (name, root) => linksTo([join(root, 'etc/service', name)], `/etc/sv/${name}`, root),
}

const runsRunit = (): boolean => existsSync('/run/runit')
