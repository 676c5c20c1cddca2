import { constants, uptime } from 'node:os'
import type { ServiceState } from '../init-system.ts'
import { runCommand } from '../run-command.ts'
import { propertiesOf, runsSystemd, STATE, stateIn } from './systemctl.ts'
import { hasTimer, unitOf } from './systemd-units.ts'

/** Asks systemd about a service, and about its timer. */
export async function state(name: string): Promise<ServiceState> {
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
      'ExecMainStatus',
      'ExecMainExitTimestamp',
    ]),
    isScheduled
      ? propertiesOf(`${name}.timer`, [...STATE, 'LastTriggerUSec', 'NextElapseUSecRealtime'])
      : NO_TIMER,
  ])
  const state = stateIn(properties)
  const facts = factsIn(properties)
  // The timer starts the next run, whether the last one failed or not.
  const isWaiting = ['inactive', 'failed'].includes(state) && stateIn(timer) === 'active'
  return {
    state: isWaiting ? 'scheduled' : state,
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
    lastResult: endedAt && resultIn(service),
    lastRun: toIsoTime(timer.get('LastTriggerUSec')) ?? endedAt,
    nextRun: toIsoTime(timer.get('NextElapseUSecRealtime')),
  }
}

/** systemd's names for the exit codes with which it could not start a program (systemd.exec(5)). */
const START_FAILURES: Readonly<Record<number, string>> = {
  200: 'CHDIR',
  203: 'EXEC',
  216: 'GROUP',
  217: 'USER',
  226: 'NAMESPACE',
  239: 'CACHE_DIRECTORY',
}

/** `success`, `exit code 3`, `exit code 203/EXEC`, `signal SIGKILL`, or what systemd calls another failure. */
function resultIn(service: ReadonlyMap<string, string>): string | undefined {
  const result = service.get('Result')
  const status = Number(service.get('ExecMainStatus'))
  if (result === 'exit-code') {
    const failure = START_FAILURES[status]
    return `exit code ${status}${failure === undefined ? '' : `/${failure}`}`
  }
  if (result !== 'signal' && result !== 'core-dump') return result
  const [signal = status] = Object.entries(constants.signals).find(([, number]) => number === status) ?? []
  return `signal ${signal}`
}

/** Reads `Wed 2026-11-25 03:00:00 UTC`; systemd writes nothing for a time that there is not. */
function toIsoTime(text = ''): string | undefined {
  const [, day, time] = /^\w+ (\S+) (\S+) UTC$/.exec(text) ?? []
  return day === undefined ? undefined : `${day}T${time}Z`
}

/** Returns what systemd counts and measures; it writes `[not set]` for what it does not know. */
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
