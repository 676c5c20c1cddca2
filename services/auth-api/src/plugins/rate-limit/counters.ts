import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'

export interface Counted {
  /** Events in the window so far, the one just counted included. */
  current: number
  retryAfterSeconds: number
}

/** Counts events by a key in windows of fixed length, which begin with a key's first event. */
export interface Counter {
  count(request: FastifyRequest, key: string): Promise<Counted>
  /** Like `count`, without counting. */
  read(request: FastifyRequest, key: string): Promise<Counted>
}

/** Makes a counter of its own for each `name`; its window is in milliseconds. */
export type CreateCounter = (name: string, windowMs: number) => Counter

/** A Redis client in which all replicas count together. */
export type LimitStore = NonNullable<RateLimitPluginOptions['redis']>

type RateLimiter = ReturnType<FastifyInstance['createRateLimit']>

/** The plugin has no way to ask for the count itself; with this maximum it is what is missing from it. */
const NO_MAXIMUM = Number.MAX_SAFE_INTEGER
/** Who floods with made-up keys pushes the oldest out of memory: there have to be many. */
const KEYS_IN_MEMORY = 50_000
/** So long a Redis that has failed is not asked again: a hung one would otherwise delay every request. */
const REDIS_RESTS_MS = 1_000

/**
 * Counters by @fastify/rate-limit: in Redis where there is one, so that all replicas count together, and always in
 * memory, which alone counts where there is no Redis, or while it is away or slow.
 */
export async function openCounters(
  app: FastifyInstance,
  redis: LimitStore | undefined,
): Promise<CreateCounter> {
  const inMemory = await openStore(app, {})
  const inRedis = redis && (await openStore(app, { redis, nameSpace: 'latchkey-limit-' }))
  const keys = new WeakMap<FastifyRequest, string>()
  let redisRestsUntil = 0

  async function ask(
    limiter: RateLimiter,
    request: FastifyRequest,
    key: string,
    increment: boolean,
  ): Promise<Counted> {
    // The limiter reads it before it first waits: a request may have several in the air.
    keys.set(request, key)
    const result = await limiter(request, { increment })
    if (result.isAllowed) return { current: 0, retryAfterSeconds: 1 }
    return { current: result.max - result.remaining, retryAfterSeconds: Math.max(1, result.ttlInSeconds) }
  }

  async function askRedis(shared: RateLimiter, request: FastifyRequest, key: string, increment: boolean) {
    if (Date.now() < redisRestsUntil) return undefined
    try {
      const counted = await ask(shared, request, key, increment)
      if (redisRestsUntil > 0) app.log.info('limits are counted in Redis again')
      redisRestsUntil = 0
      return counted
    } catch (error) {
      if (redisRestsUntil === 0)
        app.log.warn({ err: error }, 'Redis is away or slow: this process counts limits on its own')
      redisRestsUntil = Date.now() + REDIS_RESTS_MS
      return undefined
    }
  }

  return (name, windowMs) => {
    const options = {
      max: NO_MAXIMUM,
      timeWindow: windowMs,
      // Here and not with the store: each limiter has its own, which inherits no size.
      cache: KEYS_IN_MEMORY,
      keyGenerator: (request: FastifyRequest) => `${name}:${keys.get(request) ?? ''}`,
    }
    const own = inMemory(options)
    const shared = inRedis?.(options)

    async function run(request: FastifyRequest, key: string, increment: boolean): Promise<Counted> {
      // Counted here as well: whoever makes Redis slow, or empties it, gets nothing back that this process has seen.
      const here = await ask(own, request, key, increment)
      const everywhere = shared && (await askRedis(shared, request, key, increment))
      return everywhere && everywhere.current >= here.current ? everywhere : here
    }
    return {
      count: (request, key) => run(request, key, true),
      read: (request, key) => run(request, key, false),
    }
  }
}

/** One plugin instance has one store, and a context of its own keeps two of them apart. */
async function openStore(
  app: FastifyInstance,
  options: RateLimitPluginOptions,
): Promise<FastifyInstance['createRateLimit']> {
  const { promise, resolve } = Promise.withResolvers<FastifyInstance['createRateLimit']>()
  await app.register(async (context) => {
    await context.register(rateLimit, { global: false, ...options })
    resolve(context.createRateLimit)
  })
  return promise
}
