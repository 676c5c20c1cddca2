import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { CreateCounter } from './counters.ts'
import { addressKey } from './limit-keys.ts'
import { tooManyRequests } from './too-many-requests.ts'

export interface RequestLimitOptions {
  createCounter: CreateCounter
  /** Requests of one address; 0 sets no limit. */
  requestsPerMinute: number
}

/**
 * Limits all requests of an address. Health probes do not count: a 429 would take the replica out of service. Nor do
 * preflights, which a browser adds to the requests of a page.
 */
export const limitRequests = fp<RequestLimitOptions>(
  async (app, { createCounter, requestsPerMinute }) => {
    if (requestsPerMinute === 0) return
    const requests = createCounter('requests', 60_000)
    app.addHook('onRequest', async (request, reply) => {
      if (request.routeOptions.config.isProbe || isPreflight(request, reply)) return
      const { current, retryAfterSeconds } = await requests.count(request, addressKey(request))
      if (current > requestsPerMinute) throw tooManyRequests(retryAfterSeconds)
    })
  },
  { name: 'limit-requests', dependencies: ['problem-details'] },
)

/** A preflight of an origin that may call the API: the plugin `crossOrigin` has answered it by now. */
const isPreflight = ({ method, headers }: FastifyRequest, reply: FastifyReply): boolean =>
  method === 'OPTIONS' &&
  headers['access-control-request-method'] !== undefined &&
  reply.hasHeader('access-control-allow-origin')
