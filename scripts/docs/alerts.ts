import type { Alert } from '../../monitoring/rules.ts'
import { code, formatTable } from './markdown.ts'

/** One row for each alert. */
export const formatAlerts = (alerts: readonly Alert[]): string =>
  formatTable(
    ['alert', 'severity', 'after', 'what it means', 'what to do'],
    alerts.map(({ alert, labels, annotations, ...rule }) => [
      code(alert),
      labels.severity,
      rule.for ?? 'at once',
      annotations.summary,
      annotations.action,
    ]),
  )
