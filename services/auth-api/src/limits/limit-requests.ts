import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { addressKey } from './limit-keys.ts'
import type { RequestCounter } from './request-counter.ts'
import { tooManyRequests } from './too-many-requests.ts'

export interface RequestLimitOptions {
  counter: RequestCounter
  /** Requests of one address; 0 sets no limit. */
  requestsPerMinute: number
}

/** How long the counts of other replicas may be unknown. */
const EXCHANGE_MS = 500

/**
 * Limits all requests of an address. Health probes do not count: a 429 would take the replica out of service. Nor do
 * preflights, which a browser adds to the requests of a page.
 */
export const limitRequests = fp<RequestLimitOptions>(
  async (app, { counter, requestsPerMinute }) => {
    if (requestsPerMinute === 0) return
    exchangeRepeatedly(app, counter)
    app.addHook('onRequest', (request, reply, done) => {
      if (request.routeOptions.config.isProbe || isPreflight(request, reply)) return done()
      const { current, retryAfterSeconds } = counter.count(addressKey(request))
      done(current > requestsPerMinute ? tooManyRequests(retryAfterSeconds) : undefined)
    })
  },
  { name: 'limit-requests', dependencies: ['problem-details'] },
)

/** One exchange at a time, until the server closes. */
function exchangeRepeatedly(app: FastifyInstance, counter: RequestCounter): void {
  let isClosed = false
  const timer = setTimeout(async () => {
    await counter.exchange()
    if (!isClosed) timer.refresh()
  }, EXCHANGE_MS).unref()
  app.addHook('onClose', async () => {
    isClosed = true
    clearTimeout(timer)
  })
}

/** A preflight of an origin that may call the API: the plugin `crossOrigin` has answered it by now. */
const isPreflight = ({ method, headers }: FastifyRequest, reply: FastifyReply): boolean =>
  method === 'OPTIONS' &&
  headers['access-control-request-method'] !== undefined &&
  reply.hasHeader('access-control-allow-origin')
