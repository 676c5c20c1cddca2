import { setTimeout as sleep } from 'node:timers/promises'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

export interface Pauses {
  isEnding(): boolean
  /** Waits that many seconds, or until the daemon is to end. */
  take(seconds: number): Promise<void>
}

/** The first SIGTERM or SIGINT lets the call in hand finish; the second one has its usual effect, at once. */
export function watchSignals(): Pauses {
  const ending = new AbortController()
  const end = () => {
    for (const signal of SIGNALS) process.removeListener(signal, end)
    ending.abort()
  }
  for (const signal of SIGNALS) process.on(signal, end)
  return {
    isEnding: () => ending.signal.aborted,
    take: async (seconds) => {
      await sleep(seconds * 1000, undefined, { signal: ending.signal }).catch(() => undefined)
    },
  }
}
