import fp from 'fastify-plugin'
import type { CreateCounter } from './counters.ts'
import { addressKey } from './limit-keys.ts'
import { tooManyRequests } from './too-many-requests.ts'

export interface RequestLimitOptions {
  createCounter: CreateCounter
  /** Requests of one address; 0 sets no limit. */
  requestsPerMinute: number
}

/** Limits all requests of an address. Health probes do not count: a 429 would take the replica out of service. */
export const limitRequests = fp<RequestLimitOptions>(
  async (app, { createCounter, requestsPerMinute }) => {
    if (requestsPerMinute === 0) return
    const requests = createCounter('requests', 60_000)
    app.addHook('onRequest', async (request) => {
      if (request.routeOptions.config.isProbe) return
      const { current, retryAfterSeconds } = await requests.count(request, addressKey(request))
      if (current > requestsPerMinute) throw tooManyRequests(retryAfterSeconds)
    })
  },
  { name: 'limit-requests', dependencies: ['problem-details'] },
)
