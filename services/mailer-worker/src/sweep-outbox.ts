import type {
  DueQuery,
  OutboxEntry,
  OutboxRepository,
} from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { MailJob } from '@latchkey/shared/mail/queue/mail-job.ts'
import type { MailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'

export interface SweepDependencies {
  outbox: Pick<OutboxRepository, 'findLeftBehind' | 'findToRecheck' | 'markDispatched' | 'remove'>
  queue: Pick<MailQueue, 'add' | 'has'>
  metrics: Readonly<Record<'swept' | 'restored' | 'expired', { inc(): void }>>
  logger: { error(details: object, message: string): void; warn(details: object, message: string): void }
  localNow: Clock
  /** Younger rows are left to the process that wrote them. */
  minimumAgeMs: number
  /** The time for which a dispatched mail is assumed to be in the queue before the sweep checks. */
  recheckMs: number
}

const BATCH_SIZE = 100
const LOGGED_IDS = 10

/**
 * Adds to the queue the mail that its writer could not add (the queue was unavailable, the process was killed) and the
 * mail that the queue has lost since (flushed, restored from an old copy). Any number of workers may sweep at once:
 * adding a mail that the queue has does nothing.
 */
export function createOutboxSweep(dependencies: SweepDependencies) {
  const { outbox, logger, localNow, minimumAgeMs, recheckMs } = dependencies
  const sweepRows = createRowsSweep(dependencies)

  /** Returns a function that sweeps the next batch, and resolves with the number of its rows. */
  function createBatchSweep(find: (query: DueQuery) => Promise<OutboxEntry[]>, unreadable: string[]) {
    // Rows that were swept are no longer due; the unreadable ones still are, and come first.
    let offset = 0
    return async (before: number): Promise<number> => {
      const rows = await find({ before: new Date(before), limit: BATCH_SIZE, offset })
      const skipped = await sweepRows(rows)
      unreadable.push(...skipped)
      offset += skipped.length
      return rows.length
    }
  }

  function reportUnreadable(ids: readonly string[]): void {
    if (ids.length === 0) return
    const details = { count: ids.length, mailIds: ids.slice(0, LOGGED_IDS) }
    logger.error(details, 'outbox rows are unreadable; they stay until they expire')
  }

  /** Ends early when `signal` is aborted. */
  return async (signal: AbortSignal): Promise<void> => {
    const unreadable: string[] = []
    const sweepLeftBehind = createBatchSweep(outbox.findLeftBehind, unreadable)
    const recheck = createBatchSweep(outbox.findToRecheck, unreadable)
    // Fixed: a million mails take longer than `recheckMs`, and the first would be due again before the last.
    const recheckBefore = localNow() - recheckMs
    let leftBehind: number
    let rechecked: number
    do {
      // In turns: mail that the queue never had does not wait until all others are checked.
      leftBehind = await sweepLeftBehind(localNow() - minimumAgeMs)
      rechecked = await recheck(recheckBefore)
    } while ((leftBehind === BATCH_SIZE || rechecked === BATCH_SIZE) && !signal.aborted)
    reportUnreadable(unreadable)
  }
}

/** Sweeps some rows; resolves with the ids of those that are unreadable. */
function createRowsSweep({ outbox, queue, metrics, logger, localNow }: SweepDependencies) {
  async function expire({ id, dispatchedAt, expiresAt }: OutboxEntry): Promise<void> {
    const hasFailed = dispatchedAt?.getTime() === expiresAt.getTime()
    // Two workers may find the same row; the one that deletes it counts it. A mail that failed has been counted.
    if (!(await outbox.remove(id)) || hasFailed) return
    metrics.expired.inc()
    logger.warn({ mailId: id }, 'a mail expired in the outbox')
  }

  async function ensureQueued({ id, createdAt, dispatchedAt }: OutboxEntry, job: MailJob): Promise<void> {
    if (dispatchedAt && (await queue.has(id))) return
    if (dispatchedAt) logger.warn({ mailId: id }, 'the queue has lost this mail; it is added again')
    await queue.add(id, job, createdAt)
    metrics[dispatchedAt ? 'restored' : 'swept'].inc()
  }

  /** They are marked together: each commit waits for the disk. */
  async function queueAll(mails: readonly ReadableRow[]): Promise<void> {
    const queued: string[] = []
    try {
      for (const { row, job } of mails) {
        await ensureQueued(row, job)
        queued.push(row.id)
      }
    } finally {
      if (queued.length > 0) await outbox.markDispatched(queued, new Date(localNow()))
    }
  }

  return async (rows: readonly OutboxEntry[]): Promise<string[]> => {
    const readable: ReadableRow[] = []
    const unreadable: string[] = []
    for (const row of rows) {
      if (row.expiresAt.getTime() <= localNow()) {
        await expire(row)
        continue
      }
      const job = readPayload(row.payload)
      if (job) readable.push({ row, job })
      else unreadable.push(row.id)
    }
    await queueAll(readable)
    return unreadable
  }
}

interface ReadableRow {
  row: OutboxEntry
  job: MailJob
}

function readPayload(payload: string): MailJob | undefined {
  try {
    return MailJob.safeParse(JSON.parse(payload)).data
  } catch {
    return undefined
  }
}
