import { setTimeout as sleep } from 'node:timers/promises'
import type { MailJob } from '../mail-queue/mail-job.ts'
import type { MailQueue } from '../mail-queue/mail-queue.ts'
import type { OutboxRepository } from './outbox-repository.ts'

/** More than this in hand at once means that the queue hangs: the sweep takes the rest. */
const MAX_IN_HAND = 1_000

/**
 * A mail goes on at a random moment within so many milliseconds: the work for it would else slow the answer to the
 * request that caused it, or the next one, and tell by that whether the e-mail is known.
 */
const WITHIN_MS = 500

export interface OutboxDispatcherDependencies {
  outbox: Pick<OutboxRepository, 'markDispatched' | 'remove'>
  queue: Pick<MailQueue, 'add'>
  logger: { warn(details: object, message: string): void }
  /** See `WITHIN_MS`. */
  withinMs?: number
}

export interface OutboxDispatcher {
  /** To be called after the commit. Returns at once and never throws. */
  dispatch(id: string, job: MailJob): void
  /** Takes out a row that is to be sent to nobody, as quietly as `dispatch` hands one on. */
  discard(id: string): void
  /** Hands on at once what still waits for its moment, and waits for what is in hand. */
  close(): Promise<void>
}

/**
 * Hands a committed outbox row to the queue and notes that it did; the row itself stays until the mail is settled.
 * Nobody waits for it: a request takes the same time with the queue up, slow or down. What fails here the worker's
 * sweep does again under the same id.
 */
export function createOutboxDispatcher({
  outbox,
  queue,
  logger,
  withinMs = WITHIN_MS,
}: OutboxDispatcherDependencies): OutboxDispatcher {
  const inHand = new Set<Promise<void>>()
  const closing = new AbortController()

  async function hand(id: string, job: MailJob): Promise<void> {
    try {
      await queue.add(id, job)
      await outbox.markDispatched(id, new Date())
    } catch (error) {
      logger.warn({ err: error, mailId: id }, 'a mail stays in the outbox for the sweep')
    }
  }

  async function drop(id: string): Promise<void> {
    // What stays behind has expired long ago, and the sweep drops it.
    await outbox.remove(id).catch(() => false)
  }

  function soon(work: () => Promise<void>): void {
    if (inHand.size >= MAX_IN_HAND) return
    const tracked = sleep(Math.random() * withinMs, undefined, { signal: closing.signal })
      .catch(() => undefined)
      .then(work)
      .finally(() => inHand.delete(tracked))
    inHand.add(tracked)
  }

  return {
    dispatch: (id, job) => soon(() => hand(id, job)),
    discard: (id) => soon(() => drop(id)),
    async close() {
      closing.abort()
      await Promise.all(inHand)
    },
  }
}
