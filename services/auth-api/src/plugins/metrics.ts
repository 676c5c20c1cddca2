import fp from 'fastify-plugin'
import type { Registry } from 'prom-client'
import { createRequestDurations } from './request-durations.ts'

/** Measures the time of every response by method, route and status. The route is a pattern: invented paths add no series. */
export const metrics = fp<{ registry: Registry }>(
  async (app, { registry }) => {
    const observe = createRequestDurations(registry)
    app.addHook('onResponse', (request, reply, done) => {
      const { method } = request
      const route = request.routeOptions.url ?? 'unmatched'
      const { statusCode: status, elapsedTime: ms } = reply
      request.log.debug({ method, route, status, ms }, 'answered')
      observe({ method, route, status }, ms / 1000)
      done()
    })
  },
  { name: 'metrics' },
)
