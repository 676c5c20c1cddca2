import { setTimeout as wait } from 'node:timers/promises'
import { BACKOFF, backoffMs } from '@latchkey/shared/mail-queue/job-options.ts'
import { type BullWorker, type Opened, openBullWorker } from '@latchkey/shared/mail-queue/queue-backend.ts'
import type { Telemetry } from 'bullmq'
import type { Outcome, QueuedMail } from './send-mail.ts'

export interface WorkQueueOptions {
  url: string
  concurrency: number
  ratePerSecond: number
  sendMail: (job: QueuedMail) => Promise<Outcome>
  onError: (error: Error) => void
  onStalled: (jobId: string) => void
  telemetry?: Telemetry | undefined
}

/** A worker that has not renewed its lock by then is dead, and another one takes its mail over. */
const LOCK_MS = 10_000
const STALLED_CHECK_MS = 5_000
/** A mail is not given up because workers die around it; it ends when it expires. */
const MAX_STALLED = 1_000
const REOPEN_PAUSE_MS = 1_000
/** How long the queue has to take in what was done. */
const GOODBYE_MS = 2_000

/** Works the mail queue off until it is closed. Waits for the queue's server, at the start and at any time later. */
export function workQueue({
  url,
  concurrency,
  ratePerSecond,
  sendMail,
  onError,
  onStalled,
  telemetry,
}: WorkQueueOptions) {
  let opened: Opened<BullWorker> | undefined
  let isClosing = false
  let inHand = 0
  const running = run()

  async function run(): Promise<void> {
    while (!isClosing) {
      opened = open()
      try {
        await opened.thing.waitUntilReady()
        await opened.thing.run()
      } catch (error) {
        onError(error instanceof Error ? error : new Error(String(error)))
      }
      if (isClosing) return
      // BullMQ remembers a failed start for ever: the next one begins anew.
      await opened.close(true)
      await wait(REOPEN_PAUSE_MS)
    }
  }

  function open(): Opened<BullWorker> {
    const made = openBullWorker<unknown>(
      url,
      async (job) => {
        inHand++
        try {
          return await sendMail(job)
        } finally {
          inHand--
        }
      },
      {
        autorun: false,
        ...(telemetry ? { telemetry } : {}),
        concurrency,
        limiter: { max: ratePerSecond, duration: 1_000 },
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        maxStalledCount: MAX_STALLED,
        settings: {
          backoffStrategy: (attemptsMade, type) => (type === BACKOFF ? backoffMs(attemptsMade) : 1_000),
        },
      },
      onError,
    )
    made.thing.on('error', onError)
    made.thing.on('stalled', onStalled)
    return made
  }

  return {
    /** Takes no more mail, and resolves when what is in hand is done. */
    async close(): Promise<void> {
      isClosing = true
      const closed = Promise.all([opened?.close(), running])
      // While its server is away BullMQ waits for ever; with nothing in hand nobody need wait with it.
      await Promise.race([closed, idle()])
    },
  }

  async function idle(): Promise<void> {
    while (inHand > 0) await wait(100)
    await wait(GOODBYE_MS)
  }
}
