import type { Telemetry } from 'bullmq'
import type { ReadInstallation } from '../../database/installation.ts'
import { AppError } from '../../errors/app-error.ts'
import { describeTls } from '../../redis/open-redis.ts'
import { within } from '../../time/clock.ts'
import { mailJobOptions } from './job-options.ts'
import { MAIL_QUEUE, MailJob } from './mail-job.ts'
import {
  type BullQueue,
  nameQueue,
  type OpenQueue,
  openBullQueue,
  type QueueMemory,
} from './queue-backend.ts'

export interface MailQueueOptions {
  /** Reads which installation's queue it is, before the first use. */
  readInstallation: ReadInstallation
  /** Receives every connection error; for the log. */
  onError?: (error: Error) => void
  /** The time in which an operation fails, in milliseconds. Default 3,000. */
  timeoutMs?: number
  /** Adds the trace context to each job, so that the worker continues the request's trace. */
  telemetry?: Telemetry | undefined
}

const COUNTED_STATES = ['waiting', 'active', 'delayed', 'failed', 'completed'] as const
export type MailQueueCounts = Record<(typeof COUNTED_STATES)[number], number>

export interface FailedMail {
  id: string
  /** The reason of its permanent failure. Never contains a variable of the mail. */
  reason: string
  attempts: number
  failedAt: Date | undefined
  data: unknown
}

export interface MailQueue {
  /**
   * Adds the job under this id. Adding the same id again does nothing, even after the mail was sent. `acceptedAt` is the
   * job's timestamp, from which its wait is measured; by default it is now.
   */
  add(id: string, job: MailJob, acceptedAt?: Date): Promise<void>
  /** Returns true if the queue has a job with this id, in any state. */
  has(id: string): Promise<boolean>
  counts(): Promise<MailQueueCounts>
  /** The memory of Redis; undefined for a queue in PostgreSQL. */
  memory(): Promise<QueueMemory | undefined>
  listFailed(limit?: number): Promise<FailedMail[]>
  /** Retries one failed job; false when no failed job has this id. */
  retryFailed(id: string): Promise<boolean>
  /**
   * Moves here what the release before has left in the queue that all installations on a server shared, if `isOwn` says that it
   * is a mail of this one.
   */
  moveFormer(isOwn: (id: string) => Promise<boolean>): Promise<void>
  /** Rejects while the queue's server is unavailable or takes no writes. */
  ping(): Promise<void>
  /** BullMQ's own queue, for Bull Board; rejects while its server is unavailable. */
  bull(): Promise<BullQueue>
  close(): Promise<void>
}

/**
 * Opens the `mail` queue, on Redis or in PostgreSQL by the scheme of `url`. Connects at the first use and again after any
 * loss. While the server is unavailable each operation rejects within `timeoutMs`.
 */
export function openMailQueue(url: string, options: MailQueueOptions): MailQueue {
  const { timeoutMs = 3_000, onError = () => undefined } = options
  let current: Promise<OpenQueue> | undefined
  let isClosed = false

  function acquire(): Promise<OpenQueue> {
    if (isClosed) return Promise.reject(new Error('The mail queue is closed'))
    if (current) return current
    const opening = open(url, timeoutMs, options)
    current = opening
    // A BullMQ queue never recovers from a failed start: the next use opens a new one.
    opening.catch(() => {
      if (current === opening) current = undefined
    })
    return opening
  }

  const withQueue = <Result>(work: (queue: BullQueue) => Promise<Result>): Promise<Result> =>
    answerWithin(
      timeoutMs,
      acquire().then(({ queue }) => work(queue)),
    )

  return {
    add: (id, job, acceptedAt = new Date()) =>
      withQueue(async (queue) => {
        const options = { ...mailJobOptions(id, job.expiresAt), timestamp: acceptedAt.getTime() }
        await queue.add(MAIL_QUEUE, job, options)
      }),
    has: (id) => withQueue(async (queue) => (await queue.getJob(id)) !== undefined),
    counts: () =>
      withQueue(async (queue) => {
        const counts = await queue.getJobCounts(...COUNTED_STATES)
        return Object.fromEntries(
          COUNTED_STATES.map((state) => [state, counts[state] ?? 0]),
        ) as MailQueueCounts
      }),
    memory: () =>
      answerWithin(
        timeoutMs,
        acquire().then((opened) => opened.readMemory()),
      ),
    listFailed: (limit = 100) =>
      withQueue(async (queue) => (await queue.getFailed(0, limit - 1)).map(toFailedMail)),
    retryFailed: (id) =>
      withQueue(async (queue) => {
        const job = await queue.getJob(id)
        if (!job || !(await job.isFailed())) return false
        await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true })
        return true
      }),
    moveFormer: (isOwn) => acquire().then((opened) => moveFormer(opened, isOwn, onError)),
    bull: () =>
      answerWithin(
        timeoutMs,
        acquire().then(({ queue }) => queue),
      ),
    ping: () =>
      answerWithin(
        timeoutMs,
        acquire().then(async (opened) => void (await opened.ping())),
      ),
    async close() {
      isClosed = true
      const opened = await current?.catch(() => undefined)
      // While its server is unavailable BullMQ would wait for ever.
      if (opened) await answerWithin(timeoutMs, opened.close()).catch(() => undefined)
    },
  }
}

async function open(
  url: string,
  timeoutMs: number,
  { readInstallation, telemetry, onError = () => undefined }: MailQueueOptions,
): Promise<OpenQueue> {
  let lastError: Error | undefined
  let opened: OpenQueue | undefined
  const report = (error: Error) => {
    lastError = error
    onError(error)
  }
  const isLate = AbortSignal.timeout(timeoutMs)

  async function connect(): Promise<OpenQueue> {
    const installation = await readInstallation().catch(() => {
      // The check of the database says why.
      const options = { state: 'waits for the database' }
      throw new AppError('unavailable', 'The database has the name of the queue', options)
    })
    const name = nameQueue(url, installation)
    isLate.throwIfAborted()
    opened = openBullQueue(url, name, telemetry ? { telemetry } : {}, report)
    opened.queue.on('error', report)
    await opened.waitUntilReady()
    return opened
  }

  try {
    return await answerWithin(timeoutMs, connect())
  } catch (error) {
    opened?.close().catch(() => undefined)
    // BullMQ waits for a server that it cannot reach, and reports why.
    throw lastError
      ? new Error('The mail queue cannot be reached', { cause: describeTls(url, lastError) })
      : error
  }
}

/** Jobs that one call moves at most. */
const MAX_MOVED = 1_000

async function moveFormer(
  { queue, openFormer }: OpenQueue,
  isOwn: (id: string) => Promise<boolean>,
  onError: (error: Error) => void,
): Promise<void> {
  const former = openFormer()
  former.on('error', onError)
  try {
    for (const job of await former.getJobs(['waiting', 'delayed'], 0, MAX_MOVED - 1, true)) {
      const { id = '', timestamp } = job
      const { data: mail } = MailJob.safeParse(job.data)
      if (!mail || !(await isOwn(id))) continue
      // It cannot be removed while a worker of that release sends it. What is lost in between, the sweep brings back.
      const isRemoved = await job.remove().then(
        () => true,
        () => false,
      )
      if (isRemoved) await queue.add(MAIL_QUEUE, mail, { ...mailJobOptions(id, mail.expiresAt), timestamp })
    }
  } finally {
    await former.close()
  }
}

const answerWithin = <Result>(timeoutMs: number, work: Promise<Result>): Promise<Result> =>
  within(timeoutMs, work, () => new Error(`The mail queue did not answer within ${timeoutMs} ms`))

function toFailedMail(job: Awaited<ReturnType<BullQueue['getFailed']>>[number]): FailedMail {
  return {
    id: job.id ?? '',
    reason: job.failedReason ?? '',
    attempts: job.attemptsMade,
    failedAt: job.finishedOn ? new Date(job.finishedOn) : undefined,
    data: job.data,
  }
}
