import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { registerDependencyGauge } from '@latchkey/shared/health/dependency-gauge.ts'
import { registerDispatchAge, registerOutboxAge } from '@latchkey/shared/mail/outbox/outbox-age.ts'
import { Registry } from 'prom-client'
import { readAlerts, renderPrometheusRule } from '../../deploy/monitoring/rules.ts'
import { describeClientTypes } from '../../services/auth-api/test/support/client-types.ts'
import { createMailMetrics } from '../../services/mailer-worker/src/mail-metrics.ts'
import { registerQueueGauges } from '../../services/mailer-worker/src/queue-gauges.ts'
import { createPurge } from '../../shared/maintenance/purge-expired.ts'
import { describeAuthApi } from './auth-api-app.ts'
import { ROOT } from './checkout.ts'
import { formatCommandLine } from './command-line.ts'
import { replaceSection } from './markdown.ts'
import {
  formatAlerts,
  formatAuditEvents,
  formatMetrics,
  formatOperations,
  formatProblems,
  formatProtocolProblems,
  formatProviderSettings,
  formatSettings,
} from './tables.ts'

/** A page of the documentation with its generated sections as the code would have them, or a generated file. */
export interface GeneratedPage {
  /** Relative to the repository's root. */
  path: string
  current: string
  expected: string
}

/** Every page with a generated section. */
export async function generatePages(): Promise<GeneratedPage[]> {
  const { openapi, registry } = await describeAuthApi()
  const pages: Record<string, Record<string, string>> = {
    'docs/reference/endpoints.md': { endpoints: formatOperations(openapi) },
    'docs/reference/problem-types.md': { problems: formatProblems(), protocol: formatProtocolProblems() },
    'docs/reference/audit-events.md': { events: formatAuditEvents() },
    'docs/reference/metrics.md': {
      'auth-api': formatMetrics(registry),
      'mailer-worker': formatMetrics(workerRegistry()),
    },
    'docs/reference/settings.md': { settings: formatSettings(), providers: formatProviderSettings() },
    'docs/reference/cli.md': { commands: await formatCommandLine() },
    'docs/how-to/monitor.md': { alerts: formatAlerts(readAlerts()) },
  }
  return [
    ...Object.entries(pages).map(([path, sections]) => generatePage(path, sections)),
    generateFile('packages/client/types/openapi.d.ts', await describeClientTypes(openapi)),
    generateFile('deploy/k8s/components/monitoring/prometheus-rule.yaml', renderPrometheusRule()),
  ]
}

function generateFile(path: string, expected: string): GeneratedPage {
  const file = join(ROOT, path)
  return { path, current: existsSync(file) ? readFileSync(file, 'utf8') : '', expected }
}

function generatePage(path: string, sections: Record<string, string>): GeneratedPage {
  const current = readFileSync(join(ROOT, path), 'utf8')
  let expected = current
  for (const [name, content] of Object.entries(sections)) expected = replaceSection(expected, name, content)
  return { path, current, expected }
}

function workerRegistry(): Registry {
  const registry = new Registry()
  createMailMetrics(registry)
  registerOutboxAge(registry, { outbox: { findOldest: async () => undefined }, localNow: Date.now })
  registerDispatchAge(registry, {
    outbox: { findOldestUndispatched: async () => undefined },
    localNow: Date.now,
  })
  registerDependencyGauge(registry, { read: () => Promise.reject(new Error('not connected')) })
  registerQueueGauges(registry, {
    counts: () => Promise.reject(new Error('not connected')),
    memory: () => Promise.reject(new Error('not connected')),
  })
  const db = { query: async () => [], execute: async () => 0 }
  createPurge({ db, registry, auditDays: 1, localNow: Date.now })
  return registry
}
