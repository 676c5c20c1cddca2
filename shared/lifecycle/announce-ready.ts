import { setTimeout as wait } from 'node:timers/promises'
import type { Readiness } from '../health/readiness.ts'
import { type ReadinessReport, reportReadiness } from '../health/report-readiness.ts'
import type { Lifecycle } from './run-service.ts'

export interface AnnouncementOptions extends Omit<ReadinessReport, 'readiness'> {
  readiness: Readiness
  /** How long the service still answers after it has said that it is not ready, for load balancers to notice. */
  drainDelaySeconds?: number
}

/** The last part of a service: it is ready from here on, as far as its checks pass, and the first to stop is this. */
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
      await Promise.all([reporting.stop(), wait(drainDelaySeconds * 1000)])
    },
  )
}
