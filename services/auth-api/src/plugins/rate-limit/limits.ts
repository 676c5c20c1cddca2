import { createHmac } from 'node:crypto'
import { normalizeIP, type RateLimitPluginOptions } from '@fastify/rate-limit'
import { AppError } from '@latchkey/shared/app-error.ts'
import { tooManyWaiting } from '@latchkey/shared/passwords/password-hasher.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { type Counted, openCounters } from './counters.ts'
import { type Ahead, createInHand, type Place } from './pending-attempts.ts'
import { warnOfProxy } from './warn-of-proxy.ts'

export interface Limits {
  /** All requests a minute per address; 0 sets no limit, here and below. */
  requestsPerMinute: number
  /** Failed logins a minute, per account and per address. */
  failedLoginsPerMinute: number
  /** Logins of one address that may wait for others of theirs. */
  waitingLogins: number
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
/** Some gateways add the port to an address in X-Forwarded-For: each connection would be a client of its own. */
const PORT = /^(?:\[([^\]]+)\]|([\d.]+)):\d+$/
/** Who hangs up as soon as the request is out has no address any more: all of them count as one. */
const HUNG_UP = 'hung up'
/** Beyond its limit an account is granted one reset from each further address, until so many times the limit. */
const RESET_CEILING = 3
const NOTHING_AHEAD: Ahead = new Map()

interface LoginKeys {
  address: string
  account: string
  pair: string
}

/** The limits of requests, logins and resets. */
export const limits = fp<RateLimitOptions>(
  async (app, { limits, secret, redis }) => {
    const { requestsPerMinute, failedLoginsPerMinute, waitingLogins, resetRequests } = limits
    const createCounter = await openCounters(app, redis)
    const names = createHmac('sha256', secret).update('latchkey rate limit').digest()
    const accountKey = (account: string) =>
      createHmac('sha256', names).update(fold(account)).digest('base64url')
    const addressOf = (request: FastifyRequest): string =>
      normalizeIP((request.ip ?? HUNG_UP).replace(PORT, '$1$2'), IPV6_SUBNET)

    const requests = createCounter('requests', MINUTE_MS)
    const loginsOfAddress = createCounter('login-address', MINUTE_MS)
    const loginsOfAccount = createCounter('login-account', MINUTE_MS)
    const loginsOfPair = createCounter('login-pair', MINUTE_MS)
    const resetsOfAddress = createCounter('reset-address', MINUTE_MS)
    const resetsOfAccount = createCounter('reset-account', HOUR_MS)
    const resetsOfPair = createCounter('reset-pair', HOUR_MS)
    const inHand = createInHand(failedLoginsPerMinute)

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
      // Who spends an account's requests must not keep its owner from asking; nor may a request that is refused count: on
      // this replica the owner's hour might begin with it, when all replicas together began it long before.
      const pair = `${address} ${account}`
      const soFar = await resetsOfAccount.read(request, account)
      const isSpent = soFar.current >= resetRequests
      const isClosed = soFar.current >= RESET_CEILING * resetRequests
      if (isClosed || (isSpent && (await resetsOfPair.read(request, pair)).current > 0))
        throw tooMany(soFar.retryAfterSeconds)
      // Again, for those who ask at once.
      const ofPair = await resetsOfPair.count(request, pair)
      if (isSpent && ofPair.current > 1) throw tooMany(soFar.retryAfterSeconds)
      const ofAccount = await resetsOfAccount.count(request, account)
      if (ofAccount.current > RESET_CEILING * resetRequests) throw tooMany(ofAccount.retryAfterSeconds)
    })

    app.decorate('limitLogin', async (request, name, logIn) => {
      if (failedLoginsPerMinute === 0) return logIn()
      const address = addressOf(request)
      const account = accountKey(name)
      const keys = { address, account, pair: `${address} ${account}` }
      const mayWait = inHand.count(address) < failedLoginsPerMinute + waitingLogins
      const place = inHand.enter(Object.values(keys))
      try {
        await admit(request, keys, place, mayWait)
        return await logIn()
      } catch (error) {
        if (error instanceof AppError && error.code === 'invalid_credentials') {
          await loginsOfAddress.count(request, keys.address)
          await loginsOfAccount.count(request, keys.account)
          await loginsOfPair.count(request, keys.pair)
        }
        throw error
      } finally {
        place.leave()
      }
    })

    /** Resolves when a login may begin; logins that are in hand may have to end first. */
    async function admit(
      request: FastifyRequest,
      keys: LoginKeys,
      place: Place,
      mayWait: boolean,
    ): Promise<void> {
      for (;;) {
        // Before the counters are read: what ends meanwhile is counted there.
        const ahead = place.ahead()
        const [ofAddress, ofAccount, ofPair] = await Promise.all([
          loginsOfAddress.read(request, keys.address),
          loginsOfAccount.read(request, keys.account),
          loginsOfPair.read(request, keys.pair),
        ])
        // What is ahead counts as failed until it is not: forty guesses at once are no better than forty in a row.
        const isWithin = (ahead: Ahead) => {
          const failedOf = ({ current }: Counted, key: string) => current + (ahead.get(key) ?? 0)
          if (failedOf(ofAddress, keys.address) >= failedLoginsPerMinute) return false
          // Beyond its limit an account takes one failure a minute from each address: who guesses from many is slowed
          // down, and the owner, from an address that has not failed, gets in.
          return (
            failedOf(ofAccount, keys.account) < failedLoginsPerMinute || failedOf(ofPair, keys.pair) === 0
          )
        }
        if (isWithin(ahead)) return
        if (!isWithin(NOTHING_AHEAD)) {
          const ofAccountSeconds = ofAccount.current < failedLoginsPerMinute ? 0 : ofPair.retryAfterSeconds
          const ofAddressSeconds = ofAddress.current < failedLoginsPerMinute ? 0 : ofAddress.retryAfterSeconds
          throw tooMany(Math.max(ofAccountSeconds, ofAddressSeconds))
        }
        // A line without end would keep everybody in it beyond their patience, and each hash is for nobody then.
        if (!mayWait) throw tooManyWaiting()
        await place.until(isWithin)
      }
    }
  },
  { name: 'rate-limit', dependencies: ['problem-details'] },
)

const tooMany = (retryAfterSeconds: number) =>
  new AppError('rate_limited', 'Too many requests; try again later', { retryAfterSeconds })
