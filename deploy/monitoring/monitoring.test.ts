import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { describe, expect, it } from 'vitest'
import { readAlerts, readRules } from './rules.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')

/** Generated from the registries of the services. */
const OURS = [...read('../../docs/reference/metrics.md').matchAll(/^\| `(\w+)` \| (\w+)/gm)].flatMap(
  ([, name = '', type]) =>
    type === 'histogram' ? ['bucket', 'count', 'sum'].map((part) => `${name}_${part}`) : name,
)
/** The metrics of Prometheus, prom-client, node_exporter and kube-state-metrics. */
const OTHERS = [
  'up',
  'nodejs_eventloop_lag_p99_seconds',
  'process_cpu_seconds_total',
  'process_resident_memory_bytes',
  'node_filesystem_avail_bytes',
  'node_filesystem_size_bytes',
  'node_textfile_mtime_seconds',
  'kube_cronjob_status_last_successful_time',
  'barman_cloud_cloudnative_pg_io_last_available_backup_timestamp',
  'kube_deployment_status_replicas_unavailable',
  'kube_job_status_failed',
  'kube_pod_container_status_last_terminated_exitcode',
]
const RECORDED = readRules().flatMap((rule) => ('record' in rule ? rule.record : []))

/** The metrics of a query: names that a selector, a range, an operator or the end follows. */
const metricsIn = (expr: string): string[] =>
  [
    ...expr
      .replaceAll(/\b(by|on|without) \([^)]*\)|\[[^\]]*\]/g, '')
      .matchAll(/[a-zA-Z_:][\w:]*(?![\w:(]|"|=|\s*\()/g),
  ]
    .map(([name]) => name)
    .filter((name) => /_|:|^up$/.test(name) && !name.startsWith('__'))

const { panels: PANELS }: { panels: { title: string; targets?: { expr: string }[] }[] } = JSON.parse(
  read('../k8s/components/monitoring/dashboard.json'),
)

const expressions = [
  ...readRules().map((rule) => ({ of: 'alert' in rule ? rule.alert : rule.record, expr: rule.expr })),
  ...PANELS.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ of: title, expr }))),
]

describe('a query', () => {
  it.each(expressions)('names only metrics that exist: $of', ({ expr }) => {
    const labels = [...expr.matchAll(/(\w+)(=~|!~|=|!=)"/g)].map(([, label]) => label)
    const named = metricsIn(expr.replaceAll(/"[^"]*"/g, '""')).filter((name) => !labels.includes(name))
    expect(named).not.toEqual([])
    expect(named.filter((name) => ![...OURS, ...OTHERS, ...RECORDED].includes(name))).toEqual([])
  })

  it('that names another metric is noticed', () => {
    expect(metricsIn('sum by (outcome) (rate(latchkey_login_total{outcome="x"}[5m])) > 0')).toContain(
      'latchkey_login_total',
    )
  })
})

const hasPromtool = isInstalled('promtool', { requiredBy: 'REQUIRE_PROMTOOL' })

describe('the alerts', () => {
  it('each have their own name, and fire in a test', () => {
    const names = readAlerts().map(({ alert }) => alert)
    expect(new Set(names).size).toBe(names.length)
    const test = read('rules.test.yaml')
    expect(names.filter((name) => !test.includes(`alertname="${name}"`))).toEqual([])
  })

  it.skipIf(!hasPromtool)('fire when they should, and only then', () => {
    expect(() =>
      execFileSync('promtool', ['test', 'rules', 'rules.test.yaml'], {
        cwd: import.meta.dirname,
        stdio: 'pipe',
        // Prometheus computes six hours twice; collecting its garbage less often takes a quarter off.
        env: { ...process.env, GOGC: '400' },
      }),
    ).not.toThrow()
  })
})

it.skipIf(!hasPromtool)('the configuration of Prometheus on one host is valid', () => {
  const result = execFileSync('promtool', ['check', 'config', 'prometheus.yaml'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  expect(result).toContain(`${readRules().length} rules found`)
})
