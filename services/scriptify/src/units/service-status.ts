import { printable } from '@latchkey/text/printable.ts'
import { errorCode } from '../io/cli-error.ts'
import type { InitSystem, ServiceState } from './init-system.ts'
import { type ListedService, listServices } from './list-services.ts'
import { lastLogLine } from './service-log.ts'

export interface ServiceStatus extends ListedService, ServiceState {
  readonly lastLogLine: string | undefined
}

/** What the init systems and logs of this host tell about all services. */
export async function readStatus(systems: readonly InitSystem[]): Promise<ServiceStatus[]> {
  const services = await listServices({ root: '/', systems })
  const states = services.map(async (service) => {
    const system = systems.find(({ name }) => name === service.template)
    if (system === undefined) return []
    const { name } = service
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

/** `2026-11-24 10:00Z`: the time zone of the reader and that of the service may differ. */
const formatTime = (time: string | undefined): string =>
  time === undefined ? '-' : `${time.slice(0, 16).replace('T', ' ')}Z`

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
