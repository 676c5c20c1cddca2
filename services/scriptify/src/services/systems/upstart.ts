import { existsSync } from 'node:fs'
import { type InitSystem, type ServiceState, UNCONFINED } from '../init-system.ts'
import { launcherFile } from '../paths.ts'
import { processFacts } from '../process-facts.ts'
import { command, optionalCommand, runCommand } from '../run-command.ts'
import { runsSystemd } from './systemctl.ts'

export const upstart: InitSystem = {
  name: 'upstart',
  examples: [],

  unitPath: '/etc/init/{name}.conf',
  unitMode: 0o644,
  namesakes: (name) => [`/etc/init/${name}.conf`],
  log: (name) => ({ file: `/var/log/upstart/${name}.log` }),

  refuses: {
    '--enable': 'upstart starts it at boot anyway',
    '--restart': 'upstart starts it again after a failure',
    '--after': 'upstart starts it by the runlevel',
    ...UNCONFINED,
  },
  schedule: undefined,
  reasonAgainst: () =>
    runsUpstart() ? undefined : 'upstart does not run here; Debian and Ubuntu have systemd instead',

  template: 'upstart',
  render: ({ name, description }) => ({
    description: quoteUpstartString(description),
    launcher: launcherFile(name),
  }),
  extraFiles: [],
  // upstart writes the log itself.
  launcher: { logs: false, locks: false },

  reloadCommands,
  controlCommands: (name, action) =>
    // `restart` fails for a job that does not run.
    action === 'restart' ? [optionalCommand('stop', name), command('start', name)] : [command(action, name)],
  stopCommands: (name) => (runsUpstart() ? [optionalCommand('stop', name)] : []),
  stateFiles: () => [],
  forgetCommands: reloadCommands,
  state: async (name) => ({
    ...(runsUpstart() ? await jobState(name) : { state: 'unknown' }),
    startsAtBoot: true,
  }),
  links: async () => [],
}

/** A string of an upstart job (init(5)): in double quotes, where a backslash escapes the next character. */
export const quoteUpstartString = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

const runsUpstart = (): boolean => !runsSystemd() && existsSync('/sbin/initctl') && existsSync('/etc/init')

function reloadCommands() {
  return runsUpstart() ? [command('initctl', 'reload-configuration')] : []
}

async function jobState(name: string): Promise<Omit<ServiceState, 'startsAtBoot'>> {
  const { code, stdout } = await runCommand(['initctl', 'status', name], { timeoutMs: 20_000 })
  if (code !== 0) return { state: 'unknown' }
  const { state, pid } = readJobStatus(stdout)
  return { state, ...(state === 'active' ? await processFacts(pid) : {}) }
}

/** Reads `NAME GOAL/STATE, process PID` (initctl(8)); the goal of a job that is respawned stays `start`. */
export function readJobStatus(text: string): { state: string; pid: number } {
  const [, goal, state = '', pid] = /\s(start|stop)\/([a-z-]+)(?:, process (\d+))?/.exec(text) ?? []
  return { state: stateOf(goal, state), pid: Number(pid) }
}

function stateOf(goal: string | undefined, state: string): string {
  if (goal === undefined) return 'unknown'
  if (goal === 'stop') return state === 'waiting' ? 'inactive' : 'deactivating'
  if (state === 'running') return 'active'
  // Later versions have a state before some of these, such as post-stopping.
  return /^(pre-stop|stopping|killed|post-stop)/.test(state) ? 'restarting' : 'activating'
}
