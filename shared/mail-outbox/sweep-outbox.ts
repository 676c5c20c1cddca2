import type { Clock } from '../clock.ts'
import { MailJob } from '../mail-queue/mail-job.ts'
import type { MailQueue } from '../mail-queue/mail-queue.ts'
import type { OutboxEntry, OutboxRepository } from './outbox-repository.ts'

export interface SweepDependencies {
  outbox: Pick<OutboxRepository, 'findDue' | 'markDispatched' | 'remove'>
  queue: Pick<MailQueue, 'add' | 'has'>
  metrics: Readonly<Record<'swept' | 'restored' | 'expired', { inc(): void }>>
  logger: { error(details: object, message: string): void; warn(details: object, message: string): void }
  clock: Clock
  /** Younger rows are their writer's business. */
  minimumAgeMs: number
  /** How long a dispatched mail is taken to be in the queue before somebody looks. */
  recheckMs: number
}

const BATCH = 100

/**
 * Puts into the queue what its writer could not (the queue was away, the process was killed) and what the queue has
 * lost since (flushed, restored from an old copy). Any number of workers may do so at once: what is in the queue
 * already is added under the same id, which does nothing.
 */
export function createOutboxSweep({
  outbox,
  queue,
  metrics,
  logger,
  clock,
  minimumAgeMs,
  recheckMs,
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
    const isLost = row.dispatchedAt !== undefined && !(await queue.has(row.id))
    if (isLost) logger.warn({ mailId: row.id }, 'the queue has lost this mail; it is put into it again')
    if (isLost || row.dispatchedAt === undefined) {
      await queue.add(row.id, job)
      metrics[isLost ? 'restored' : 'swept'].inc()
    }
    await outbox.markDispatched(row.id, new Date(clock()))
    return true
  }

  /** Returns how many rows it dealt with. */
  return async (): Promise<number> => {
    let dealtWith = 0
    for (;;) {
      const now = clock()
      const rows = await outbox.findDue(new Date(now - minimumAgeMs), new Date(now - recheckMs))
      const results = []
      for (const row of rows) results.push(await sweepRow(row))
      const progress = results.filter(Boolean).length
      dealtWith += progress
      if (rows.length < BATCH || progress === 0) return dealtWith
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
