import type { Metric, Registry } from 'prom-client'

const NAME = 'http_request_duration_seconds'
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

interface Labels {
  method: string
  /** A pattern, or `unmatched`. */
  route: string
  status: number
}

/** The requests with the same labels. */
interface Series {
  labels: Labels
  /** Requests between each bound and the one before it; the last ones are above all bounds. */
  counts: number[]
  /** In seconds. */
  sum: number
}

export type ObserveDuration = (labels: Readonly<Labels>, seconds: number) => void

/**
 * A histogram as prom-client's, whose `observe` copies, checks and joins the labels of each value: with 60,000 requests
 * a second, a twentieth of their time.
 */
export function createRequestDurations(registry: Registry): ObserveDuration {
  // By method, route and status.
  const methods = new Map<string, Map<string, Map<number, Series>>>()

  function addSeries({ method, route, status }: Labels): Series {
    const series = { labels: { method, route, status }, counts: Array(BOUNDS.length + 1).fill(0), sum: 0 }
    const routes = methods.get(method) ?? new Map<string, Map<number, Series>>()
    const statuses = routes.get(route) ?? new Map<number, Series>()
    methods.set(method, routes.set(route, statuses.set(status, series)))
    return series
  }

  const allSeries = () =>
    [...methods.values()].flatMap((routes) => [...routes.values()].flatMap((each) => [...each.values()]))

  const metric = {
    name: NAME,
    help: 'Time from the request line to the end of the response',
    type: 'histogram',
    labelNames: ['method', 'route', 'status'],
    aggregator: 'sum',
    get: async () => ({ ...metric, values: allSeries().flatMap(toValues) }),
    reset: () => methods.clear(),
  }
  // A registry reads these members alone, and the reference of the metrics the labels; prom-client's type names its own classes.
  registry.registerMetric(metric as unknown as Metric)

  return (labels, seconds) => {
    const series = methods.get(labels.method)?.get(labels.route)?.get(labels.status) ?? addSeries(labels)
    const bucket = bucketOf(seconds)
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sum += seconds
  }
}

/** The index of the first bound that a value does not exceed; after all of them where it exceeds them. */
function bucketOf(seconds: number): number {
  const index = BOUNDS.findIndex((bound) => seconds <= bound)
  return index < 0 ? BOUNDS.length : index
}

function toValues({ labels, counts, sum }: Series) {
  let count = 0
  const buckets = counts.map((each, index) => {
    count += each
    const le = BOUNDS[index] ?? '+Inf'
    return { metricName: `${NAME}_bucket`, labels: { le, ...labels }, value: count }
  })
  return [
    ...buckets,
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: count },
  ]
}
