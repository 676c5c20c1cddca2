import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { boundedTo } from '../bounded-cache.ts'
import type { Counted } from './memory-counter.ts'
import type { RedisPause } from './redis-pause.ts'

export interface RequestCounterOptions {
  /** In milliseconds. A window begins with the first event of its key. */
  windowMs: number
  /** Where all replicas count together. */
  redis?: Redis | undefined
  unlessPaused: RedisPause
}

export interface RequestCounter {
  /** Counts an event at once, as this process knows the count of all replicas. */
  count(key: string): Counted
  /** Adds what was counted here to Redis, and learns what other replicas have counted. */
  exchange(): Promise<void>
}

/** The events of a key. */
interface Window {
  endsAt: number
  /** As Redis has them. */
  shared: number
  /** Counted here, and not added to Redis yet. */
  added: number
}

/** A flood of invented addresses pushes the oldest out of memory, so there have to be many. */
const KEYS_IN_MEMORY = 50_000
/** Redis answers other commands in between. */
const KEYS_A_PIPELINE = 500

/** The count of a key and the rest of its window; the key is the one of @fastify/rate-limit, which earlier releases use. */
const ADD = `local count = redis.call('INCRBY', KEYS[1], ARGV[1])
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    left = tonumber(ARGV[2])
  end
  return {count, left}`

/**
 * Counts without waiting: no promise, and no question to Redis, is created for an event. Replicas learn each other's
 * counts by `exchange`, so a client may exceed its limit for as long as the pause between two exchanges.
 */
export function createRequestCounter({
  windowMs,
  redis,
  unlessPaused,
}: RequestCounterOptions): RequestCounter {
  const windows = new LRUCache<string, Window>(boundedTo(KEYS_IN_MEMORY))
  const changed = new Map<string, Window>()

  function open(key: string, now: number): Window {
    const window = { endsAt: now + windowMs, shared: 0, added: 0 }
    windows.set(key, window)
    return window
  }

  async function add(client: Redis, entries: readonly [string, Window][]): Promise<void> {
    const pipeline = client.pipeline()
    const amounts = entries.map(([, { added }]) => added)
    for (const [index, [key]] of entries.entries())
      pipeline.eval(ADD, 1, `latchkey-limit-requests:${key}`, amounts[index] ?? 0, windowMs)
    const replies = (await pipeline.exec()) ?? []
    for (const [index, [, window]] of entries.entries()) {
      const [error, reply] = replies[index] ?? [new Error('Redis sent no answer')]
      if (error) throw error
      const [count = 0, leftMs = windowMs] = (reply as unknown[]).map(Number)
      const amount = amounts[index] ?? 0
      window.added -= amount
      // Emptying Redis resets nothing that this process knows.
      window.shared = Math.max(count, window.shared + amount)
      window.endsAt = Math.min(window.endsAt, Date.now() + leftMs)
    }
  }

  return {
    count(key) {
      const now = Date.now()
      const known = windows.get(key)
      const window = known && known.endsAt > now ? known : open(key, now)
      window.added++
      if (redis) changed.set(key, window)
      return {
        current: window.shared + window.added,
        retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)),
      }
    },

    async exchange() {
      if (!redis) return
      const now = Date.now()
      const entries = [...changed].filter(([, { endsAt }]) => endsAt > now)
      changed.clear()
      for (let begin = 0; begin < entries.length; begin += KEYS_A_PIPELINE) {
        const some = entries.slice(begin, begin + KEYS_A_PIPELINE)
        const done = await unlessPaused(() => add(redis, some).then(() => true))
        // Added with the next exchange, unless the key has a new window by then.
        if (!done)
          for (const [key, window] of some) if (windows.peek(key) === window) changed.set(key, window)
      }
    },
  }
}
