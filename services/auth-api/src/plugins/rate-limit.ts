import { createHmac } from 'node:crypto'
import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import { AppError } from '@latchkey/shared/app-error.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

export interface Limits {
  /** All requests a minute per address; 0 sets no limit, here and below. */
  requestsPerMinute: number
  /** Failed logins a minute, per account and per address. */
  failedLoginsPerMinute: number
  /** Reset requests an hour per account, and a minute per address. */
  resetRequests: number
}

export interface RateLimitOptions {
  limits: Limits
  /** Keys the names of accounts, so that the counters hold none in clear. */
  secret: Uint8Array
  /** Where all replicas count together; each counts on its own when absent, or while it is away. */
  redis?: RateLimitPluginOptions['redis']
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Runs a login unless too many have failed; counts it when it fails with `invalid_credentials`. */
    limitLogin<Result>(
      request: FastifyRequest,
      account: string,
      logIn: () => Promise<Result>,
    ): Promise<Result>
    /** Counts a reset request; throws `rate_limited` beyond the limit. */
    limitReset(request: FastifyRequest, account: string): Promise<void>
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** One customer of a provider has at least this much of IPv6. */
const IPV6_SUBNET = 64

interface Counter {
  max: number
  count(request: FastifyRequest, key: string): Promise<Counted>
  /** Like `count`, without counting. */
  read(request: FastifyRequest, key: string): Promise<Counted>
}

interface Counted {
  current: number
  retryAfterSeconds: number
}

/** The limits of requests, logins and resets, by @fastify/rate-limit. */
export const limits = fp<RateLimitOptions>(
  async (app, { limits: { requestsPerMinute, failedLoginsPerMinute, resetRequests }, secret, redis }) => {
    await app.register(rateLimit, {
      global: false,
      skipOnError: true,
      ipv6Subnet: IPV6_SUBNET,
      ...(redis ? { redis } : {}),
    })
    const names = createHmac('sha256', secret).update('latchkey rate limit').digest()
    const accountKey = (account: string) =>
      createHmac('sha256', names).update(fold(account)).digest('base64url')
    const keys = new WeakMap<FastifyRequest, string>()

    /** A counter of its own per `name`; what it counts by is given with each request. */
    function createCounter(name: string, max: number, timeWindow: number): Counter {
      const check = app.createRateLimit({
        max: Math.max(max, 1),
        timeWindow,
        ipv6Subnet: IPV6_SUBNET,
        skipOnError: true,
        keyGenerator: (request) => `${name}:${keys.get(request) ?? ''}`,
      })
      const run = async (request: FastifyRequest, key: string, increment: boolean): Promise<Counted> => {
        keys.set(request, key)
        const result = await check(request, { increment })
        if (result.isAllowed) return { current: 0, retryAfterSeconds: 1 }
        const over = result.isExceeded ? 1 : 0
        return {
          current: result.max - result.remaining + over,
          retryAfterSeconds: Math.max(1, result.ttlInSeconds),
        }
      }
      return {
        max,
        count: (request, key) => run(request, key, true),
        read: (request, key) => run(request, key, false),
      }
    }

    const addressOf = (request: FastifyRequest): string => subnetOf(request.ip)
    const requests = createCounter('requests', requestsPerMinute, MINUTE_MS)
    const loginsOfAddress = createCounter('login-address', failedLoginsPerMinute, MINUTE_MS)
    const loginsOfAccount = createCounter('login-account', failedLoginsPerMinute, MINUTE_MS)
    const loginsOfPair = createCounter('login-pair', failedLoginsPerMinute, MINUTE_MS)
    const resetsOfAddress = createCounter('reset-address', resetRequests, MINUTE_MS)
    const resetsOfAccount = createCounter('reset-account', resetRequests, HOUR_MS)
    const inHand = createInHand()

    if (requestsPerMinute > 0) {
      app.addHook('onRequest', async (request) => {
        // A probe must not be answered 429: it would take the replica out of service.
        if (request.routeOptions.url?.startsWith('/health/')) return
        const { current, retryAfterSeconds } = await requests.count(request, addressOf(request))
        if (current > requests.max) throw tooMany(retryAfterSeconds)
      })
    }

    app.decorate('limitReset', async (request: FastifyRequest, account: string) => {
      if (resetRequests === 0) return
      for (const [counter, key] of [
        [resetsOfAddress, addressOf(request)],
        [resetsOfAccount, accountKey(account)],
      ] as const) {
        const { current, retryAfterSeconds } = await counter.count(request, key)
        if (current > counter.max) throw tooMany(retryAfterSeconds)
      }
    })

    app.decorate('limitLogin', async (request, name, logIn) => {
      if (failedLoginsPerMinute === 0) return logIn()
      const address = addressOf(request)
      const account = accountKey(name)
      const pair = `${address} ${account}`
      // What is in hand counts as failed until it is not: forty guesses at once are no better than forty in a row.
      const used = async (counter: Counter, key: string): Promise<Counted> => {
        const { current, retryAfterSeconds } = await counter.read(request, key)
        return { current: current + inHand.count(key), retryAfterSeconds }
      }
      const release = inHand.take([address, account, pair])
      try {
        const ofAddress = await used(loginsOfAddress, address)
        // Each `used` includes the attempt itself.
        if (ofAddress.current > failedLoginsPerMinute) throw tooMany(ofAddress.retryAfterSeconds)
        const ofAccount = await used(loginsOfAccount, account)
        // Beyond its limit an account takes one failure a minute from each address: who guesses from many is slowed
        // down, and the owner, from an address that has not failed, gets in.
        const ofPair = await used(loginsOfPair, pair)
        if (ofAccount.current > failedLoginsPerMinute && ofPair.current > 1)
          throw tooMany(ofPair.retryAfterSeconds)
        return await logIn()
      } catch (error) {
        if (error instanceof AppError && error.code === 'invalid_credentials') {
          await loginsOfAddress.count(request, address)
          await loginsOfAccount.count(request, account)
          await loginsOfPair.count(request, pair)
        }
        throw error
      } finally {
        release()
      }
    })
  },
  { name: 'rate-limit', dependencies: ['problem-details'] },
)

const tooMany = (retryAfterSeconds: number) =>
  new AppError('rate_limited', 'Too many requests; try again later', { retryAfterSeconds })

/** How many attempts of each key are in hand in this process. */
function createInHand() {
  const counts = new Map<string, number>()
  return {
    count: (key: string): number => counts.get(key) ?? 0,
    take(keys: readonly string[]): () => void {
      for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
      return () => {
        for (const key of keys) {
          const left = (counts.get(key) ?? 1) - 1
          if (left > 0) counts.set(key, left)
          else counts.delete(key)
        }
      }
    },
  }
}

/** An IPv4 address as it is, an IPv6 one cut to its /64: who has one address there has them all. */
function subnetOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped || !address.includes(':')) return mapped ?? address
  const [head = '', tail = ''] = address.split('%', 1)[0]?.split('::') ?? []
  const left = head.split(':').filter(Boolean)
  const right = tail.split(':').filter(Boolean)
  const zeros = Array(Math.max(0, 8 - left.length - right.length)).fill('0')
  return `${[...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
