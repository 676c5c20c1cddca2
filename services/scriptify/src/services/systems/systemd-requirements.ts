import { CliError, EXIT } from '../../io/cli-error.ts'
import { runCommand } from '../run-command.ts'
import type { Service } from '../service.ts'
import { hasNoncharacter } from '../text.ts'
import { toCalendarEvents } from './calendar.ts'

/** Throws exit code 2 for a service that systemd would not run, or would run otherwise than it is defined. */
export async function requireRunnable(service: Service): Promise<void> {
  const { command, environment, possiblePaths, rootdir, hardened, schedule } = service
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
  const hidden = hardened && [rootdir, ...possiblePaths].find((path) => /^\/(var\/)?tmp(\/|$)/.test(path))
  if (hidden) {
    throw new CliError(
      `A sandboxed service has its own /tmp, and cannot see ${hidden}: move it, or add --no-hardening`,
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
      throw new CliError(
        `--schedule ${JSON.stringify(event)} never elapses: name a time that is to come`,
        EXIT.usage,
      )
    }
    if (code <= 0) continue
    const reason = stderr.trim().split('\n')[0] ?? ''
    throw new CliError(`--schedule ${JSON.stringify(event)} is not a time for systemd: ${reason}`, EXIT.usage)
  }
}
