import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { rootReason } from '@latchkey/shared/errors/root-reason.ts'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import type { LimitStore } from './limit-store.ts'

/** The events of a key in the current window. */
export interface Counted {
  count: number
  retryAfterSeconds: number
}

/**
 * Counts events by a key in windows of fixed length. A window begins with the first event of its key; in Redis, also with the
 * first read.
 */
export interface Counter {
  count(key: string): Promise<Counted>
  /** Takes back one event that `count` has counted. */
  giveBack(key: string): Promise<void>
  /** Reads a count without adding to it. */
  read(key: string): Promise<Counted>
}

/** Creates the counter called `name`. */
export type CreateCounter = (name: string, windowSeconds: number) => Counter

export interface LimitLogger {
  info(message: string): void
  warn(details: object, message: string): void
}

/** An attacker may invent any number of keys. Further ones push the oldest out of memory. */
const KEYS_IN_MEMORY = 100_000
/** A policy compares counts with its own limit, so the library's is never reached. */
const OPTIONS = { keyPrefix: '', points: Number.MAX_SAFE_INTEGER, duration: 60 }

/**
 * Creates the function that creates counters. All replicas count together in Redis, if there is one. Each process counts in
 * memory too, and the larger count is the answer: nothing that a process has counted is reset when Redis is emptied, hangs or
 * refuses to write, as it would be with the library's `insuranceLimiter`, which counts only then.
 */
export function createCounterFactory(store: LimitStore | undefined, logger: LimitLogger): CreateCounter {
  const memory = new RateLimiterMemory(OPTIONS)
  const boundKey = boundKeys(memory)
  const shared =
    store && new RateLimiterRedis({ ...OPTIONS, storeClient: store.redis, rejectIfRedisNotReady: true })
  const outages = createOutageLog(logger)

  return (name, windowSeconds) => {
    const window = { customDuration: windowSeconds }
    async function askRedis(key: string, events: number): Promise<RateLimiterRes | undefined> {
      const stored = store?.keyOf(key)
      if (stored === undefined) return undefined
      // A count is read by adding nothing: `get` is a transaction of four commands, by which the bench row "login, sha1" loses a fifth.
      return shared?.penalty(stored, events, window).then(outages.end, outages.report)
    }
    return {
      async count(key) {
        const named = `${name}:${key}`
        boundKey(named)
        return larger(await memory.penalty(named, 1, window), await askRedis(named, 1))
      },
      async giveBack(key) {
        const named = `${name}:${key}`
        await Promise.all([memory.reward(named, 1, window), askRedis(named, -1)])
      },
      async read(key) {
        const named = `${name}:${key}`
        return larger(await memory.get(named), await askRedis(named, 0))
      },
    }
  }
}

/** Returns a function that is told each key a limiter counts, and deletes the oldest of too many. */
export function boundKeys(limiter: RateLimiterMemory): (key: string) => void {
  const keys = new LRUCache<string, true>({
    max: KEYS_IN_MEMORY,
    // It is not called for a key that is set to the value it has.
    dispose: (_value, key) => void limiter.delete(key),
  })
  return (key) => void keys.set(key, true)
}

function larger(inMemory: RateLimiterRes | null, inRedis: RateLimiterRes | null | undefined): Counted {
  const largest = (inRedis?.consumedPoints ?? 0) >= (inMemory?.consumedPoints ?? 0) ? inRedis : inMemory
  // The timer that deletes a window may be late.
  if (!largest || largest.msBeforeNext <= 0) return { count: 0, retryAfterSeconds: 1 }
  return { count: largest.consumedPoints, retryAfterSeconds: Math.ceil(largest.msBeforeNext / 1000) }
}

/** Logs when Redis fails first, and when it counts again. */
function createOutageLog(logger: LimitLogger) {
  let isFailing = false
  return {
    report(error: unknown): undefined {
      const message = 'Redis is unavailable or slow: this process counts limits on its own'
      if (!isFailing) logger.warn({ reason: rootReason(error) }, message)
      isFailing = true
    },
    end<Result>(result: Result): Result {
      if (isFailing) logger.info('limits are counted in Redis again')
      isFailing = false
      return result
    },
  }
}

/** The refusal of a client that has reached a limit. */
export const tooManyRequests = ({ retryAfterSeconds }: Pick<Counted, 'retryAfterSeconds'>): AppError =>
  new AppError('rate_limited', 'Too many requests', { retryAfterSeconds })
