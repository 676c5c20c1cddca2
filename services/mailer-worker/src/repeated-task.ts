import { setTimeout as wait } from 'node:timers/promises'

/** Runs `work` now and again `pauseMs` after each end, until it is stopped; a failure goes to `onError`. */
export function repeatEvery(
  pauseMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
) {
  const abort = new AbortController()
  const running = run()

  async function run(): Promise<void> {
    while (!abort.signal.aborted) {
      await work().catch(onError)
      await wait(pauseMs, undefined, { signal: abort.signal }).catch(() => undefined)
    }
  }

  return {
    /** Resolves when what is in hand is done. */
    stop: async (): Promise<void> => {
      abort.abort()
      await running
    },
  }
}
