import { createHmac } from 'node:crypto'
import { normalizeIP, type RateLimitPluginOptions } from '@fastify/rate-limit'
import { AppError } from '@latchkey/shared/app-error.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { type Counted, type Counter, openCounters } from './counters.ts'
import { createInHand } from './in-hand.ts'
import { warnOfProxy } from './warn-of-proxy.ts'

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
  redis?: RateLimitPluginOptions['redis'] | undefined
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
/** Beyond its limit an account is granted one reset from each further address, until so many times the limit. */
const RESET_CEILING = 3

/** The limits of requests, logins and resets. */
export const limits = fp<RateLimitOptions>(
  async (app, { limits: { requestsPerMinute, failedLoginsPerMinute, resetRequests }, secret, redis }) => {
    const createCounter = await openCounters(app, redis)
    const names = createHmac('sha256', secret).update('latchkey rate limit').digest()
    const accountKey = (account: string) =>
      createHmac('sha256', names).update(fold(account)).digest('base64url')
    const addressOf = (request: FastifyRequest): string => normalizeIP(request.ip, IPV6_SUBNET)

    const requests = createCounter('requests', MINUTE_MS)
    const loginsOfAddress = createCounter('login-address', MINUTE_MS)
    const loginsOfAccount = createCounter('login-account', MINUTE_MS)
    const loginsOfPair = createCounter('login-pair', MINUTE_MS)
    const resetsOfAddress = createCounter('reset-address', MINUTE_MS)
    const resetsOfAccount = createCounter('reset-account', HOUR_MS)
    const resetsOfPair = createCounter('reset-pair', HOUR_MS)
    const inHand = createInHand()

    warnOfProxy(app)
    if (requestsPerMinute > 0) {
      app.addHook('onRequest', async (request) => {
        // A probe must not be answered 429: it would take the replica out of service.
        if (request.routeOptions.url?.startsWith('/health/')) return
        const { current, retryAfterSeconds } = await requests.count(request, addressOf(request))
        if (current > requestsPerMinute) throw tooMany(retryAfterSeconds)
      })
    }

    app.decorate('limitReset', async (request: FastifyRequest, name: string) => {
      if (resetRequests === 0) return
      const address = addressOf(request)
      const account = accountKey(name)
      const ofAddress = await resetsOfAddress.count(request, address)
      if (ofAddress.current > resetRequests) throw tooMany(ofAddress.retryAfterSeconds)
      // Who spends an account's requests must not keep its owner from asking; nor may the account's counter grow by
      // requests that are refused.
      const ofPair = await resetsOfPair.count(request, `${address} ${account}`)
      const soFar = await resetsOfAccount.read(request, account)
      if (soFar.current >= resetRequests && ofPair.current > 1) throw tooMany(soFar.retryAfterSeconds)
      const ofAccount = await resetsOfAccount.count(request, account)
      if (ofAccount.current > RESET_CEILING * resetRequests) throw tooMany(ofAccount.retryAfterSeconds)
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
