import { printable } from '@latchkey/text/printable.ts'
import type { CliContext } from '../io/cli-context.ts'
import { errorCode } from '../io/cli-error.ts'
import { printLines } from '../io/print-lines.ts'
import { requireReadableEnvironment } from './control-service.ts'
import type { InitSystem, ServiceState } from './init-system.ts'
import type { ListedService } from './list-services.ts'
import { lastLogLine } from './service-log.ts'

export interface ServiceStatus extends ListedService, ServiceState {
  readonly lastLogLine: string | undefined
}

/** Returns what the init systems and logs of this host tell about services; nothing about those of another host. */
export async function readStatus(
  services: readonly ListedService[],
  { systems, root = '/' }: { systems: readonly InitSystem[]; root?: string },
): Promise<ServiceStatus[]> {
  const states = services.map(async (service) => {
    const { name, template } = service
    const system = systems.find((known) => known.name === template)
    if (system === undefined) return []
    if (root !== '/')
      return [{ ...service, state: 'unknown', startsAtBoot: 'unknown' as const, lastLogLine: undefined }]
    try {
      return [{ ...service, ...(await system.state(name)), lastLogLine: await lastLogLine(name, system) }]
    } catch (error) {
      // It was uninstalled after it had been listed.
      if (errorCode(error) === 'ENOENT') return []
      throw error
    }
  })
  return (await Promise.all(states)).flat()
}

/** Prints the table, or an array of JSON, and on standard error which environment files cannot be read as they are. */
export async function printStatus(
  services: readonly ServiceStatus[],
  { json, context: { stdout, stderr } }: { json: boolean; context: CliContext },
): Promise<void> {
  // A serial console may say that it has no columns.
  const lines = json
    ? [JSON.stringify(services, undefined, 2)]
    : formatStatus(services, stdout.columns || Number.POSITIVE_INFINITY)
  await printLines(stdout, lines)
  for (const { environment } of services)
    await requireReadableEnvironment(environment).catch((error: Error) => printLines(stderr, [error.message]))
}

/** The exit code of `systemctl status`: 0 for a service that runs, or waits for its time, 3 for one that does not, else 4. */
export function exitCodeOf(services: readonly ServiceStatus[]): number {
  const [{ state = 'unknown' } = {}] = services
  if (state === 'unknown') return 4
  return state === 'active' || state === 'scheduled' ? 0 : 3
}

const HEADINGS = [
  ...['NAME', 'TEMPLATE', 'STATE', 'BOOT', 'UPTIME', 'RESTARTS', 'MEMORY'],
  ...['LAST RUN', 'RESULT', 'NEXT RUN', 'LAST LOG LINE'],
]

/** A table with a line for each service, cut to the width of the terminal. */
export function formatStatus(services: readonly ServiceStatus[], columns: number): string[] {
  if (services.length === 0) return ['No service is installed']
  const rows = [HEADINGS, ...services.map(cellsOf)]
  const widths = HEADINGS.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .slice(0, columns)
      .trimEnd(),
  )
}

const cellsOf = (service: ServiceStatus): string[] => [
  service.name,
  service.template,
  service.state,
  describeBoot(service.startsAtBoot),
  service.uptimeSeconds === undefined ? '-' : formatDuration(service.uptimeSeconds),
  `${service.restarts ?? '-'}`,
  service.memoryBytes === undefined ? '-' : `${(service.memoryBytes / 1024 ** 2).toFixed(1)} MiB`,
  formatTime(service.lastRun),
  service.lastResult ?? '-',
  formatTime(service.nextRun),
  printable(service.lastLogLine ?? '-'),
]

function describeBoot(startsAtBoot: ServiceStatus['startsAtBoot']): string {
  if (startsAtBoot === 'unknown') return '-'
  return startsAtBoot ? 'yes' : 'no'
}

/** `2026-11-24 10:00+01:00`, in the time zone of this machine, as logs have it. */
function formatTime(time: string | undefined): string {
  if (time === undefined) return '-'
  const date = new Date(time)
  const offset = -date.getTimezoneOffset()
  const parts = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const zone = parts.map((part) => `${part}`.padStart(2, '0')).join(':')
  // Sweden writes dates as ISO 8601 does.
  return `${date.toLocaleString('sv').slice(0, 16)}${offset < 0 ? '-' : '+'}${zone}`
}

/** The two largest units: `2d 3h`, `3h 5m`, `5m 7s`, `7s`. */
function formatDuration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  if (first === -1) return '0s'
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ')
}
