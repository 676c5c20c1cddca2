import type { JobsOptions } from 'bullmq'

/** The first pause, the longest pause, and the share of a pause that is random, which spreads the retries of many mails. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
const JITTER = 0.5

/** Attempts with short pauses, for at least half an hour. Most codes have expired by then; a notice may live for days. */
const FREQUENT_ATTEMPTS = 120
/** The longest pause between two attempts. */
export const LATER_PAUSE_MS = 600_000

/** No mail reaches this number: its expiry ends it first. */
const ATTEMPTS = 100_000

/** The backoff that each job names and the worker implements: BullMQ's exponential one has no upper bound. */
export const BACKOFF = 'mail'

/** Returns the pause before the next attempt, in milliseconds: exponential up to 30 s, later ten minutes, with jitter. */
export function backoffMs(attemptsMade: number, random: () => number = Math.random): number {
  const longest = attemptsMade > FREQUENT_ATTEMPTS ? LATER_PAUSE_MS : LONGEST_PAUSE_MS
  const pause = Math.min(longest, FIRST_PAUSE_MS * 2 ** Math.min(attemptsMade - 1, 16))
  return Math.round(pause * (1 - JITTER * random()))
}

const KEEP_COMPLETED_SECONDS = 3_600
const KEEP_FAILED_SECONDS = 14 * 24 * 3_600
/** The number of failed jobs that the queue keeps. */
export const KEEP_FAILED_COUNT = 10_000

/**
 * The attempts of a mail. A sent job's id stays known for twice its mail's lifetime: until then the outbox may still have
 * the row (the process was killed before it deleted it), and adding the mail again must do nothing.
 */
export function mailJobOptions(id: string, expiresAt: string, now: number = Date.now()): JobsOptions {
  const lifeSeconds = Math.max(0, Math.ceil((Date.parse(expiresAt) - now) / 1000))
  return {
    jobId: id,
    attempts: ATTEMPTS,
    backoff: { type: BACKOFF },
    removeOnComplete: { age: Math.max(KEEP_COMPLETED_SECONDS, 2 * lifeSeconds) },
    removeOnFail: { age: KEEP_FAILED_SECONDS, count: KEEP_FAILED_COUNT },
    stackTraceLimit: 1,
  }
}
