import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { boundKeys, tooManyRequests } from './counters.ts'
import type { LimitedClient } from './limit-keys.ts'
import type { LimitStore } from './limit-store.ts'

/** Counts a request; throws `rate_limited` beyond the limit of its address. */
export type LimitRequest = (client: LimitedClient) => Promise<void>

/** A replica counts this share of a limit by one command of Redis: one for each request would often take longer than the request. */
const REPORTS_PER_LIMIT = 20

/**
 * Limits the requests of an address in a minute. A replica counts in memory. Where there is Redis, it adds there what it has
 * counted, and refuses the address once all replicas together have reached the limit: with several of them a client may
 * send a twentieth of the limit more for each.
 */
export function createRequestLimiter(store: LimitStore | undefined, requestsPerMinute: number): LimitRequest {
  const options = { keyPrefix: '', points: requestsPerMinute, duration: 60 }
  const memory = new RateLimiterMemory(options)
  const boundKey = boundKeys(memory)
  const shared =
    store && new RateLimiterRedis({ ...options, storeClient: store.redis, rejectIfRedisNotReady: true })
  const reported = Math.ceil(requestsPerMinute / REPORTS_PER_LIMIT)

  async function report(address: string): Promise<void> {
    const key = store?.keyOf(`requests:${address}`)
    if (key === undefined) return
    await shared?.consume(key, reported).catch((refusal) => {
      // Otherwise Redis is unavailable, and each replica counts on its own.
      if (refusal instanceof RateLimiterRes) void memory.block(address, secondsOf(refusal))
    })
  }

  return async ({ address }) => {
    try {
      const { consumedPoints, isFirstInDuration } = await memory.consume(address)
      if (isFirstInDuration) boundKey(address)
      if (consumedPoints % reported === 0) void report(address)
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) throw tooManyRequests({ retryAfterSeconds: secondsOf(refusal) })
      throw refusal
    }
  }
}

const secondsOf = ({ msBeforeNext }: RateLimiterRes): number => Math.max(1, Math.ceil(msBeforeNext / 1000))
