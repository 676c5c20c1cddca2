import { setTimeout as wait } from 'node:timers/promises'
import type { Clock } from '../../time/clock.ts'
import type { MailJob } from '../queue/mail-job.ts'
import type { MailQueue } from '../queue/mail-queue.ts'
import type { OutboxRepository } from './outbox-repository.ts'

/** More mails in flight than this show that the queue hangs. The sweep dispatches the rest. */
const MAX_IN_FLIGHT = 4_000

/**
 * A mail is dispatched after a random delay of up to this long. Its work would otherwise slow the response to the
 * request that caused it, or to the next one, and reveal whether the e-mail is known.
 */
const MAX_DELAY_MS = 500
/** The rows of mails that were dispatched, and of decoys, are written together: each commit waits for the disk. */
const COLLECT_MS = 250

export interface MailDispatcherDependencies {
  outbox: Pick<OutboxRepository, 'markDispatched' | 'removeAll'>
  queue: Pick<MailQueue, 'add'>
  localNow: Clock
  /** Receives why a mail could not be dispatched; the sweep retries it. */
  onError?: (error: unknown, mailId: string) => void
  /** See `MAX_DELAY_MS`. */
  maxDelayMs?: number
}

export interface MailDispatcher {
  /** Adds a committed row's mail to the queue, after a random delay. Returns at once and never throws. */
  dispatch(id: string, job: MailJob): void
  /** Deletes the row of a decoy, with the same delay as `dispatch`. Returns at once and never throws. */
  discard(id: string): void
  /** Starts at once what is still delayed, and waits for what is in flight. */
  close(): Promise<void>
}

/**
 * Adds mail to the queue and records that it did; the row itself stays until the mail is settled. No request waits for
 * it, so that requests take the same time whether the queue is up, slow or down. A mail that could not be dispatched is
 * left to the worker's sweep, which uses the same id.
 */
export function createMailDispatcher({
  outbox,
  queue,
  localNow,
  onError,
  maxDelayMs = MAX_DELAY_MS,
}: MailDispatcherDependencies): MailDispatcher {
  const inFlight = new Set<Promise<void>>()
  const closing = new AbortController()
  const pause = (ms: number) => wait(ms, undefined, { signal: closing.signal }).catch(() => undefined)
  let dispatched: string[] = []
  let decoys: string[] = []
  let writing: Promise<void> | undefined

  async function writeCollected(): Promise<void> {
    const [sent, discarded] = [dispatched, decoys]
    dispatched = []
    decoys = []
    writing = undefined
    if (sent.length > 0)
      await outbox.markDispatched(sent, new Date(localNow())).catch((error) => {
        for (const id of sent) onError?.(error, id)
      })
    // A decoy that stays behind has expired already, and the sweep deletes it.
    if (discarded.length > 0) await outbox.removeAll(discarded).catch(() => undefined)
  }

  function writeSoon(): void {
    writing ??= pause(COLLECT_MS).then(writeCollected)
  }

  function markDispatchedSoon(id: string): void {
    dispatched.push(id)
    writeSoon()
  }

  function deleteDecoySoon(id: string): void {
    decoys.push(id)
    writeSoon()
  }

  async function enqueue(id: string, job: MailJob): Promise<void> {
    try {
      await queue.add(id, job)
      markDispatchedSoon(id)
    } catch (error) {
      onError?.(error, id)
    }
  }

  function runDelayed(work: () => Promise<void> | void): void {
    if (inFlight.size >= MAX_IN_FLIGHT) return
    const tracked = pause(Math.random() * maxDelayMs)
      .then(work)
      .finally(() => inFlight.delete(tracked))
    inFlight.add(tracked)
  }

  return {
    dispatch: (id, job) => runDelayed(() => enqueue(id, job)),
    discard: (id) => runDelayed(() => deleteDecoySoon(id)),
    async close() {
      closing.abort()
      await Promise.all(inFlight)
      await writing
    },
  }
}
