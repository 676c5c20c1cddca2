import { setTimeout as wait } from 'node:timers/promises'
import type { Readiness } from '../health/readiness.ts'
import { type ReadinessReport, reportReadiness } from '../health/report-readiness.ts'
import type { Lifecycle } from './run-service.ts'

export interface AnnouncementOptions extends Omit<ReadinessReport, 'readiness'> {
  readiness: Readiness
  /** The time for which an unready service still takes requests; load balancers notice in that time. Default 0. */
  drainDelaySeconds?: number
}

/** Makes the service ready while its checks pass. A stop first makes it unready. */
export async function announceReady(
  lifecycle: Lifecycle,
  { readiness, drainDelaySeconds = 0, ...report }: AnnouncementOptions,
): Promise<void> {
  await lifecycle.open(
    () => {
      readiness.serve()
      return reportReadiness({ readiness, ...report })
    },
    async (reporting) => {
      readiness.drain()
      reporting.stop()
      await wait(drainDelaySeconds * 1000)
    },
  )
}
