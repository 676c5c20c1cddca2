import fp from 'fastify-plugin'
import { Histogram, type Registry } from 'prom-client'

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

export interface MetricsOptions {
  registry: Registry
  /** Logs each refused request as `info`, for a developer who reads the log; a flood of them would fill a disk. */
  logsRefusals?: boolean
}

/** Measures the time of every response by method, route and status. The route is a pattern: invented paths add no series. */
export const metrics = fp<MetricsOptions>(
  async (app, { registry, logsRefusals = false }) => {
    const durations = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the request line to the end of the response',
      labelNames: ['method', 'route', 'status'],
      buckets: BOUNDS,
      registers: [registry],
    })
    app.addHook('onResponse', (request, reply, done) => {
      const { method } = request
      const route = request.routeOptions.url ?? 'unmatched'
      const { statusCode: status, elapsedTime: ms } = reply
      const level = logsRefusals && status >= 400 ? 'info' : 'debug'
      request.log[level]({ method, route, status, ms: Math.round(ms) }, 'answered')
      durations.observe({ method, route, status }, ms / 1000)
      done()
    })
  },
  { name: 'metrics' },
)
