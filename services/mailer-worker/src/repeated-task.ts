import { setTimeout as wait } from 'node:timers/promises'

export interface RepeatedTaskOptions {
  /** Time from the end of one run to the start of the next. */
  pauseMs: number
  work: () => Promise<unknown>
  /** Receives what a run rejects with, unless the one before it failed too; the next run follows all the same. */
  onError: (error: unknown) => void
  /** Receives the number of runs that have failed, when one succeeds after them. */
  onRecovery: (failed: number) => void
}

/** Runs `work` again and again, from `start` on. */
export function createRepeatedTask({ pauseMs, work, onError, onRecovery }: RepeatedTaskOptions) {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let failed = 0

  async function runOnce(): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (failed++ === 0) onError(error)
      return
    }
    if (failed > 0) onRecovery(failed)
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
