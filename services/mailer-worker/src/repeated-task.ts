import { setTimeout as wait } from 'node:timers/promises'

export interface RepeatedTaskOptions {
  /** From the end of one run to the start of the next, in milliseconds. */
  pauseMs: number
  work: () => Promise<unknown>
  /** Receives what a run rejects with; the next run follows all the same. */
  onError: (error: unknown) => void
}

/** Runs `work` again and again, from `start` on. */
export function createRepeatedTask({ pauseMs, work, onError }: RepeatedTaskOptions) {
  const stopping = new AbortController()
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await work().catch(onError)
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
