import { setTimeout as wait } from 'node:timers/promises'
import { rootReason } from '../errors/root-reason.ts'

export interface RepeatedTaskOptions {
  /** The name of the task in the log: `sweeping the outbox`. */
  name: string
  /** The time from the end of one run to the start of the next, in milliseconds. */
  pauseMs: number
  /** `signal` is aborted when the task is to stop: work that takes long ends early then. */
  work: (signal: AbortSignal) => Promise<unknown>
  logger: { info(details: object, message: string): void; warn(details: object, message: string): void }
}

/**
 * Runs `work` again and again, from `start` on. Logs one line when it begins to fail, and one when it succeeds again, with
 * the number of runs that have failed: an outage takes many runs.
 */
export function createRepeatedTask({ name, pauseMs, work, logger }: RepeatedTaskOptions) {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let failed = 0

  async function runOnce(): Promise<void> {
    try {
      await work(stopping.signal)
    } catch (error) {
      if (failed++ === 0) logger.warn({ reason: rootReason(error) }, `${name} failed`)
      return
    }
    if (failed > 0) logger.info({ failed }, `${name} succeeds again`)
    failed = 0
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await runOnce()
      await wait(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  return {
    start(): void {
      running ??= run()
    },
    /** Resolves once the current run has ended; no other follows. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}
