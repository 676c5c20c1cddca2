import type { Clock } from '@latchkey/shared/clock.ts'
import { MailJob } from '@latchkey/shared/mail-queue/mail-job.ts'
import type { MailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import type { OutboxEntry, OutboxRepository } from '@latchkey/shared/mail-queue/outbox-repository.ts'
import type { MailMetrics } from './mail-metrics.ts'

export interface SweepDependencies {
  outbox: Pick<OutboxRepository, 'findOlderThan' | 'remove'>
  queue: Pick<MailQueue, 'add'>
  metrics: Pick<MailMetrics, 'swept' | 'expired'>
  logger: { error(details: object, message: string): void; warn(details: object, message: string): void }
  clock: Clock
  /** Younger rows are their writer's business. */
  minimumAgeMs: number
}

const BATCH = 100

/**
 * Puts into the queue what its writer could not: the queue was away, or the process was killed. Any number of workers
 * may do so at once, and a row that is in the queue already is added under the same id, which does nothing.
 */
export function createOutboxSweep({
  outbox,
  queue,
  metrics,
  logger,
  clock,
  minimumAgeMs,
}: SweepDependencies) {
  async function sweepRow(row: OutboxEntry): Promise<boolean> {
    if (row.expiresAt.getTime() <= clock()) {
      // Two workers may find it: who takes it out counts it.
      if (!(await outbox.remove(row.id))) return true
      metrics.expired.inc()
      logger.warn({ mailId: row.id }, 'a mail expired in the outbox')
      return true
    }
    const job = readPayload(row.payload)
    if (!job) {
      logger.error({ mailId: row.id }, 'an outbox row cannot be read; it stays until it expires')
      return false
    }
    await queue.add(row.id, job)
    if (await outbox.remove(row.id)) metrics.swept.inc()
    return true
  }

  /** Returns how many rows it took out. */
  return async (): Promise<number> => {
    let taken = 0
    for (;;) {
      const rows = await outbox.findOlderThan(new Date(clock() - minimumAgeMs))
      const results = []
      for (const row of rows) results.push(await sweepRow(row))
      const progress = results.filter(Boolean).length
      taken += progress
      if (rows.length < BATCH || progress === 0) return taken
    }
  }
}

function readPayload(payload: string): MailJob | undefined {
  try {
    return MailJob.safeParse(JSON.parse(payload)).data
  } catch {
    return undefined
  }
}
