/** One line of a panel: a query of Prometheus and the name of its series. */
interface Line {
  expr: string
  legend: string
}

type Unit = 's' | 'ops' | 'short' | 'bytes' | 'percentunit'

export interface Panel {
  title: string
  unit: Unit
  lines: readonly Line[]
  /** A number instead of a curve. */
  isStat?: boolean
  isStacked?: boolean
}

export interface Row {
  title: string
  panels: readonly Panel[]
}

const rate = (metric: string): string => `rate(${metric}[$__rate_interval])`

/** The quantiles of a histogram, over all replicas. */
const quantiles = (metric: string, selector = ''): Line[] =>
  [0.5, 0.95, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (le) (${rate(`${metric}_bucket${selector}`)}))`,
    legend: `p${quantile * 100}`,
  }))

const by = (label: string, metric: string): Line => ({
  expr: `sum by (${label}) (${rate(metric)})`,
  legend: `{{${label}}}`,
})

/** The last value of one line. */
const stat = (title: string, expr: string, legend: string, unit: Unit = 'short'): Panel => ({
  title,
  unit,
  isStat: true,
  lines: [{ expr, legend }],
})

/** A line for each replica of both services. */
const ofEachReplica = (metric: string): Line => ({
  expr: `${metric}{job=~"auth-api|mailer-worker"}`,
  legend: '{{job}} {{instance}}',
})

const REQUESTS = 'http_request_duration_seconds_count{route!~"/health/.*"}'

/** What the dashboard shows, most important first. */
export const ROWS: readonly Row[] = [
  {
    title: 'Is it up?',
    panels: [
      stat('auth-api replicas', 'sum(up{job="auth-api"})', 'up'),
      stat('mailer-worker replicas', 'sum(up{job="mailer-worker"})', 'up'),
      stat(
        'Dependencies that answer every replica',
        'min by (dependency) (latchkey_dependency_up)',
        '{{dependency}}',
      ),
      stat('Oldest unsent mail', 'max(latchkey_mail_oldest_unsent_seconds)', 'age', 's'),
    ],
  },
  {
    title: 'Users',
    panels: [
      {
        title: 'Logins by outcome',
        unit: 'ops',
        isStacked: true,
        lines: [by('outcome', 'latchkey_logins_total')],
      },
      {
        title: 'Time of a login',
        unit: 's',
        lines: quantiles('http_request_duration_seconds', '{route="/login"}'),
      },
      {
        title: 'Steps of password resets',
        unit: 'ops',
        lines: [
          {
            expr: `sum by (step, outcome) (${rate('latchkey_password_resets_total')})`,
            legend: '{{step}} {{outcome}}',
          },
        ],
      },
      { title: 'Requests by status', unit: 'ops', isStacked: true, lines: [by('status', REQUESTS)] },
      {
        title: 'Time of other requests',
        unit: 's',
        lines: quantiles('http_request_duration_seconds', '{route!~"/health/.*|/login"}'),
      },
      {
        title: 'Share of bad logins and mails (SLO 0.1 % and 1 %)',
        unit: 'percentunit',
        lines: [
          { expr: 'latchkey:login_bad:ratio_rate1h', legend: 'logins' },
          { expr: 'latchkey:mail_bad:ratio_rate1h', legend: 'mails' },
        ],
      },
    ],
  },
  {
    title: 'Mail',
    panels: [
      {
        title: 'Mails by outcome',
        unit: 'ops',
        lines: ['sent', 'retried', 'failed', 'expired', 'repeated'].map((outcome) => ({
          expr: `sum(${rate(`latchkey_mail_${outcome}_total`)})`,
          legend: outcome,
        })),
      },
      {
        title: 'From acceptance to the mail server',
        unit: 's',
        lines: quantiles('latchkey_mail_wait_seconds'),
      },
      { title: 'Answer of the mail server', unit: 's', lines: quantiles('latchkey_mail_delivery_seconds') },
      {
        title: 'Jobs of the queue',
        unit: 'short',
        lines: [
          { expr: 'max by (state) (latchkey_mail_jobs)', legend: '{{state}}' },
          { expr: 'max(latchkey_mail_outbox_rows)', legend: 'not in the queue' },
        ],
      },
      {
        title: 'Mails that the sweep added',
        unit: 'ops',
        lines: ['swept', 'restored'].map((kind) => ({
          expr: `sum(${rate(`latchkey_mail_outbox_${kind}_total`)})`,
          legend: kind,
        })),
      },
    ],
  },
  {
    title: 'Work',
    panels: [
      { title: 'Checks of tokens', unit: 'ops', lines: [by('source', 'latchkey_token_checks_total')] },
      {
        title: 'Hashes of passwords',
        unit: 'short',
        lines: [{ expr: 'sum by (state) (latchkey_hashes)', legend: '{{state}}' }],
      },
      {
        title: 'Wait of a hash for a thread',
        unit: 's',
        lines: quantiles('latchkey_hash_wait_seconds'),
      },
      {
        title: 'Connections to the database',
        unit: 'short',
        lines: [
          { expr: 'sum by (state) (latchkey_database_connections)', legend: '{{state}}' },
          { expr: 'sum(latchkey_database_connections_max)', legend: 'maximum' },
        ],
      },
      {
        title: 'CPU',
        unit: 'short',
        lines: [by('instance', 'process_cpu_seconds_total{job=~"auth-api|mailer-worker"}')],
      },
      {
        title: 'Memory',
        unit: 'bytes',
        lines: [ofEachReplica('process_resident_memory_bytes')],
      },
      {
        title: 'Event loop lag, p99',
        unit: 's',
        lines: [ofEachReplica('nodejs_eventloop_lag_p99_seconds')],
      },
    ],
  },
]

const COLUMNS = 24
const HEIGHT = { stat: 4, curve: 8 }
/** Of a row of panels. */
const WIDTH = { stat: 6, curve: 8 }

/** The dashboard as Grafana imports it. */
export function renderDashboard(): string {
  const panels: object[] = []
  let y = 0
  for (const row of ROWS) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 },
    })
    let x = 0
    for (const panel of row.panels) {
      const kind = panel.isStat ? 'stat' : 'curve'
      if (x + WIDTH[kind] > COLUMNS) {
        x = 0
        y += HEIGHT[kind]
      }
      panels.push(renderPanel(panel, panels.length + 1, { x, y, w: WIDTH[kind], h: HEIGHT[kind] }))
      x += WIDTH[kind]
    }
    y += HEIGHT[row.panels[0]?.isStat ? 'stat' : 'curve']
  }
  return `${JSON.stringify({ ...DASHBOARD, panels }, null, 2)}\n`
}

const SOURCE = { type: 'prometheus', uid: '$datasource' }

const DASHBOARD = {
  title: 'Latchkey',
  uid: 'latchkey',
  tags: ['latchkey'],
  schemaVersion: 39,
  refresh: '30s',
  time: { from: 'now-3h', to: 'now' },
  templating: {
    list: [{ name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' }],
  },
}

function renderPanel({ title, unit, lines, isStat, isStacked }: Panel, id: number, gridPos: object): object {
  const custom = isStacked
    ? { stacking: { mode: 'normal', group: 'A' }, fillOpacity: 30 }
    : { fillOpacity: 5, showPoints: 'never' }
  return {
    id,
    title,
    type: isStat ? 'stat' : 'timeseries',
    gridPos,
    datasource: SOURCE,
    fieldConfig: { defaults: { unit, ...(isStat ? {} : { min: 0, custom }) }, overrides: [] },
    options: isStat
      ? { colorMode: 'none', reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: lines.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  }
}
