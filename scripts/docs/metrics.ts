import type { Registry } from 'prom-client'
import { code, formatTable } from './markdown.ts'

/** One row for each metric of a registry. Nothing is collected. */
export function formatMetrics(registry: Registry): string {
  const rows = registry
    .getMetricsAsArray()
    .map(({ name, type, help, ...metric }) => [code(name), String(type), labelsOf(metric), help])
    .toSorted(([a = ''], [b = '']) => a.localeCompare(b))
  return formatTable(['metric', 'type', 'labels', 'meaning'], rows)
}

/** prom-client declares no `labelNames` on what `getMetricsAsArray` returns. */
function labelsOf(metric: object): string {
  const names = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : []
  return names.map((name) => code(String(name))).join(', ')
}
