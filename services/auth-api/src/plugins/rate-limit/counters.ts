import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import { type Counted, createMemoryCounter } from './memory-counter.ts'
import { createRedisPause, type RedisPause } from './redis-pause.ts'

/** Counts events by a key in windows of fixed length, which begin with a key's first event. */
export interface Counter {
  count(request: FastifyRequest, key: string): Promise<Counted>
  /** Like `count`, without counting. */
  read(request: FastifyRequest, key: string): Promise<Counted>
}

/** Creates the counter called `name`; its window is in milliseconds. */
export type CreateCounter = (name: string, windowMs: number) => Counter

type RateLimiter = ReturnType<FastifyInstance['createRateLimit']>

/** The plugin returns what remains of a maximum, never the count; this one is never reached. */
const NO_MAXIMUM = Number.MAX_SAFE_INTEGER

/**
 * Opens counters. All replicas count together in Redis, by @fastify/rate-limit, if there is one. Each process also counts
 * in memory, which is used alone without Redis, or while Redis is unavailable or slow.
 */
export async function openCounters(
  app: FastifyInstance,
  redis: Redis | undefined,
  unlessPaused: RedisPause = createRedisPause(app.log),
): Promise<CreateCounter> {
  const inRedis = redis && (await openStore(app, { redis, nameSpace: 'latchkey-limit-' }))
  const keys = new WeakMap<FastifyRequest, string>()

  async function ask(
    limiter: RateLimiter,
    request: FastifyRequest,
    key: string,
    increment: boolean,
  ): Promise<Counted> {
    // The limiter reads it before its first await: a request may have several counts in flight.
    keys.set(request, key)
    const result = await limiter(request, { increment })
    if (result.isAllowed) return { current: 0, retryAfterSeconds: 1 }
    return { current: result.max - result.remaining, retryAfterSeconds: Math.max(1, result.ttlInSeconds) }
  }

  return (name, windowMs) => {
    const options = {
      max: NO_MAXIMUM,
      timeWindow: windowMs,
      keyGenerator: (request: FastifyRequest) => `${name}:${keys.get(request) ?? ''}`,
    }
    const countHere = createMemoryCounter(windowMs)
    const shared = inRedis?.(options)

    async function run(request: FastifyRequest, key: string, increment: boolean): Promise<Counted> {
      // Counted in memory too: emptying Redis or slowing it down resets nothing that this process has counted.
      const here = countHere(key, increment)
      const everywhere = shared && (await unlessPaused(() => ask(shared, request, key, increment)))
      return everywhere && everywhere.current >= here.current ? everywhere : here
    }
    return {
      count: (request, key) => run(request, key, true),
      read: (request, key) => run(request, key, false),
    }
  }
}

/** A plugin instance has one store; a separate context keeps two instances apart. */
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
