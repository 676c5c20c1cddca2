import { LRUCache } from 'lru-cache'
import { boundedTo } from '../bounded-cache.ts'

export interface Counted {
  /** Events in the window so far, the one just counted included. */
  current: number
  retryAfterSeconds: number
}

/** A flood of invented keys pushes the oldest keys out of memory, so there have to be many. */
const KEYS_IN_MEMORY = 50_000

/** Counts in this process. */
export function createMemoryCounter(windowMs: number) {
  const windows = new LRUCache<string, { current: number; endsAt: number }>(boundedTo(KEYS_IN_MEMORY))

  return (key: string, increment: boolean): Counted => {
    const now = Date.now()
    const found = windows.get(key)
    const open = found && found.endsAt > now ? found : { current: 0, endsAt: now + windowMs }
    const current = open.current + (increment ? 1 : 0)
    if (increment) windows.set(key, { ...open, current })
    return { current, retryAfterSeconds: current === 0 ? 1 : Math.ceil((open.endsAt - now) / 1000) }
  }
}
