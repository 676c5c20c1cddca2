import type { Redis } from 'ioredis'
import { type Counted, createMemoryCounter } from './memory-counter.ts'
import type { RedisPause } from './redis-pause.ts'
import { createSharedCounts } from './shared-counts.ts'

/** Counts events by a key in windows of fixed length, which begin with a key's first event. */
export interface Counter {
  count(key: string): Promise<Counted>
  /** Like `count`, without counting. */
  read(key: string): Promise<Counted>
}

/** Creates the counter called `name`; its window is in milliseconds. */
export type CreateCounter = (name: string, windowMs: number) => Counter

/**
 * Opens counters. All replicas count together in Redis, if there is one. Each process also counts in memory, which is used
 * alone without Redis, or while Redis is unavailable or slow.
 */
export function openCounters(redis: Redis | undefined, unlessPaused: RedisPause): CreateCounter {
  const shared = redis && createSharedCounts(redis)

  return (name, windowMs) => {
    const countHere = createMemoryCounter(windowMs)

    async function run(key: string, increment: boolean): Promise<Counted> {
      // Counted in memory too: emptying Redis or slowing it down resets nothing that this process has counted.
      const here = countHere(key, increment)
      const named = `${name}:${key}`
      const everywhere =
        shared && (await unlessPaused(() => (increment ? shared.count(named, windowMs) : shared.read(named))))
      return everywhere && everywhere.current >= here.current ? everywhere : here
    }
    return {
      count: (key) => run(key, true),
      read: (key) => run(key, false),
    }
  }
}
