import type { MailJob } from './mail-job.ts'
import type { MailQueue } from './mail-queue.ts'
import type { OutboxRepository } from './outbox-repository.ts'

/** More than this in hand at once means that the queue hangs: the sweep takes the rest. */
const MAX_IN_HAND = 1_000

export interface OutboxDispatcherDependencies {
  outbox: Pick<OutboxRepository, 'markDispatched' | 'remove'>
  queue: Pick<MailQueue, 'add'>
  logger: { warn(details: object, message: string): void }
}

export interface OutboxDispatcher {
  /** To be called after the commit. Returns at once and never throws. */
  dispatch(id: string, job: MailJob): void
  /** Takes out a row that is to be sent to nobody, as quietly as `dispatch` hands one on. */
  discard(id: string): void
  /** Waits for what is in hand. */
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
}: OutboxDispatcherDependencies): OutboxDispatcher {
  const inHand = new Set<Promise<void>>()

  async function hand(id: string, job: MailJob): Promise<void> {
    try {
      await queue.add(id, job)
      await outbox.markDispatched(id, new Date())
    } catch (error) {
      logger.warn({ err: error, mailId: id }, 'a mail stays in the outbox for the sweep')
    }
  }

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => inHand.delete(tracked))
    inHand.add(tracked)
  }

  return {
    dispatch(id, job) {
      if (inHand.size < MAX_IN_HAND) track(hand(id, job))
    },
    discard(id) {
      // What stays behind has expired long ago, and the sweep drops it.
      if (inHand.size < MAX_IN_HAND)
        track(
          outbox.remove(id).then(
            () => undefined,
            () => undefined,
          ),
        )
    },
    async close() {
      await Promise.all(inHand)
    },
  }
}
