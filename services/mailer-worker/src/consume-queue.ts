import { setTimeout as wait } from 'node:timers/promises'
import type { ReadInstallation } from '@latchkey/shared/database/installation.ts'
import { BACKOFF, backoffMs } from '@latchkey/shared/mail/queue/job-options.ts'
import { nameQueue, type OpenWorker, openBullWorker } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { type Telemetry, UnrecoverableError } from 'bullmq'
import type { QueuedMail, SendOutcome } from './send-mail.ts'
import { PermanentFailure } from './senders/sender.ts'

export interface QueueConsumerOptions {
  url: string
  readInstallation: ReadInstallation
  /** Mails sent at a time. */
  concurrency: number
  /** Mails started per second by all workers together. */
  ratePerSecond: number
  sendMail: (job: QueuedMail) => Promise<SendOutcome>
  onError: (error: Error) => void
  onStalled: (jobId: string) => void
  telemetry?: Telemetry | undefined
  takeover?: Takeover | undefined
}

/** The times after which another worker takes over the jobs of a dead one, in milliseconds. */
export interface Takeover {
  /** A worker that has not renewed a job's lock for this long counts as dead. */
  lockMs: number
  /** Time between two searches for jobs of dead workers. */
  checkMs: number
}

const TAKEOVER: Takeover = { lockMs: 10_000, checkMs: 5_000 }
/** A crash of a worker does not use up the attempts of its mail, which ends when it expires. */
const MAX_STALLED = 1_000
const REOPEN_PAUSE_MS = 1_000
/** The time that the queue has to record what was done. */
const RECORDING_MS = 2_000
const IDLE_CHECK_MS = 100

/** Consumes the mail queue from `start` on. Waits for the queue's server, at the start and after any loss. */
export function createQueueConsumer(options: QueueConsumerOptions) {
  const jobs = trackInFlight(options.sendMail)
  let opened: OpenWorker | undefined
  let running: Promise<void> | undefined
  let isStopping = false

  async function run(): Promise<void> {
    while (!isStopping) {
      try {
        const installation = await options.readInstallation()
        if (isStopping) return
        opened = openWorker({ ...options, sendMail: jobs.send }, installation)
        await opened.worker.waitUntilReady()
        await opened.worker.run()
      } catch (error) {
        options.onError(error instanceof Error ? error : new Error(String(error)))
      }
      if (isStopping) return
      // BullMQ never recovers from a failed start: a new worker takes over.
      await opened?.close(true)
      await wait(REOPEN_PAUSE_MS)
    }
  }

  return {
    start(): void {
      if (!isStopping) running ??= run()
    },
    /** Takes no more mail; resolves once the mail in flight is done. */
    async stop(): Promise<void> {
      isStopping = true
      if (!running) return
      const closed = Promise.all([opened?.close(), running])
      // While its server is unavailable BullMQ waits for ever; without a job in flight nothing is lost by not waiting.
      await Promise.race([closed, jobs.recorded()])
    },
  }
}

/** Counts the jobs in flight, so that a stop can wait for them without the queue's server. */
function trackInFlight(sendMail: QueueConsumerOptions['sendMail']) {
  let inFlight = 0
  return {
    async send(job: QueuedMail): Promise<SendOutcome> {
      inFlight++
      try {
        return await sendMail(job)
      } finally {
        inFlight--
      }
    },
    /** Resolves once nothing is in flight and the queue has had the time to record it. */
    async recorded(): Promise<void> {
      while (inFlight > 0) await wait(IDLE_CHECK_MS)
      await wait(RECORDING_MS)
    },
  }
}

function openWorker(options: QueueConsumerOptions, installation: string): OpenWorker {
  const {
    url,
    concurrency,
    ratePerSecond,
    sendMail,
    onError,
    onStalled,
    telemetry,
    takeover = TAKEOVER,
  } = options
  const opened = openBullWorker<unknown>(
    url,
    nameQueue(url, installation),
    (job) => sendMail(job).catch(rethrow),
    {
      autorun: false,
      ...(telemetry ? { telemetry } : {}),
      concurrency,
      limiter: { max: ratePerSecond, duration: 1_000 },
      lockDuration: takeover.lockMs,
      stalledInterval: takeover.checkMs,
      maxStalledCount: MAX_STALLED,
      settings: {
        backoffStrategy: (attemptsMade, type) => (type === BACKOFF ? backoffMs(attemptsMade) : 1_000),
      },
    },
    onError,
  )
  opened.worker.on('error', onError)
  opened.worker.on('stalled', onStalled)
  return opened
}

/** Throws what BullMQ understands: it tries again after any other error than its `UnrecoverableError`. */
function rethrow(error: unknown): never {
  throw error instanceof PermanentFailure ? new UnrecoverableError(error.message) : error
}

/** Takes jobs until the worker is closed or cannot start. */
