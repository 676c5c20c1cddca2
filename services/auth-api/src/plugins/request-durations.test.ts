import { Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createRequestDurations, type ObserveDuration } from './request-durations.ts'

const REQUESTS: [labels: Parameters<ObserveDuration>[0], seconds: number][] = [
  [{ method: 'GET', route: '/profile', status: 200 }, 0.0004],
  [{ method: 'GET', route: '/profile', status: 200 }, 0.001],
  [{ method: 'GET', route: '/profile', status: 401 }, 0.0011],
  [{ method: 'PUT', route: '/profile', status: 200 }, 15],
  [{ method: 'GET', route: 'unmatched', status: 404 }, 15.5],
]

/** What a histogram of prom-client has counted. */
function asPromClient(): Registry {
  const registry = new Registry()
  const histogram = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request line to the end of the response',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers: [registry],
  })
  for (const [labels, seconds] of REQUESTS) histogram.observe({ ...labels }, seconds)
  return registry
}

function asLatchkey(): Registry {
  const registry = new Registry()
  const observe = createRequestDurations(registry)
  for (const [labels, seconds] of REQUESTS) observe(labels, seconds)
  return registry
}

/** The lines of a scrape; their order has no meaning. */
const linesOf = async (registry: Registry) => (await registry.metrics()).split('\n').toSorted()

it("are what a histogram of prom-client's shows", async () => {
  expect(await linesOf(asLatchkey())).toEqual(await linesOf(asPromClient()))
})

it('begin again when the registry is reset', async () => {
  const registry = asLatchkey()
  registry.resetMetrics()
  expect((await linesOf(registry)).filter((line) => line !== '')).toEqual([
    '# HELP http_request_duration_seconds Time from the request line to the end of the response',
    '# TYPE http_request_duration_seconds histogram',
  ])
})
