import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRules } from '../../monitoring/rules.ts'
import { PASSWORD } from '../auth-api/test/support/start-app.ts'
import { findFreePort } from './support/free-port.ts'
import { ROOT } from './support/images.ts'
import { isInstalled } from './support/installed-program.ts'
import { type RunningServices, startServices } from './support/running-services.ts'
import { waitFor } from './support/wait-for.ts'

const hasPrometheus = isInstalled('prometheus', { requiredBy: 'REQUIRE_PROMTOOL' })

describe.skipIf(!hasPrometheus)('a real Prometheus', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-prometheus-'))
  let services: RunningServices
  let prometheus: ChildProcess
  let prometheusUrl: string

  beforeAll(async () => {
    const metricsPort = await findFreePort()
    services = await startServices('PostgreSQL only', { api: { METRICS_PORT: String(metricsPort) } })
    const port = await findFreePort()
    prometheusUrl = `http://127.0.0.1:${port}`
    writeFileSync(
      join(folder, 'prometheus.yaml'),
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: [join(ROOT, 'monitoring', 'rules.yaml')],
        scrape_configs: [
          { job_name: 'auth-api', static_configs: [{ targets: [`127.0.0.1:${metricsPort}`] }] },
          { job_name: 'mailer-worker', static_configs: [{ targets: [new URL(services.worker.url).host] }] },
        ],
      }),
    )
    prometheus = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yaml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    )
  })
  afterAll(async () => {
    if (prometheus) {
      prometheus.kill('SIGKILL')
      await once(prometheus, 'exit')
    }
    await services?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  interface Answer {
    status: string
    error?: string
    data?: { result: { metric: Record<string, string>; value: [number, string] }[] }
  }
  async function query(expr: string): Promise<Answer> {
    const answer = await fetch(`${prometheusUrl}/api/v1/query?${new URLSearchParams({ query: expr })}`)
    return (await answer.json()) as Answer
  }
  const readValue = async (expr: string) =>
    Number((await query(expr)).data?.result[0]?.value[1] ?? Number.NaN)
  it('shows a value for every panel of the dashboard while users log in and ask for mail', async () => {
    await waitFor(async () => (await query('up').catch(() => undefined))?.status === 'success')
    const { newUser, origin, post } = services
    const user = await newUser()
    const { panels: all }: { panels: { title: string; targets?: { expr: string }[] }[] } = JSON.parse(
      readFileSync(join(ROOT, 'k8s/components/monitoring/dashboard.json'), 'utf8'),
    )
    const panels = all.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '1m') })),
    )
    const empty = async () => {
      await post('/login', { username: user.email, password: PASSWORD })
      await post('/login/resetrequest', { email: user.email })
      await fetch(`${origin}/openapi.json`)
      const answers = await Promise.all(
        panels.map(async (panel) => ({ ...panel, ...(await query(panel.expr)) })),
      )
      for (const { title, error } of answers) expect(error, title).toBeUndefined()
      return answers
        .filter(({ data }) => data?.result.length === 0)
        .map(({ title, expr }) => `${title}: ${expr}`)
    }
    // The rates over an hour need two scrapes and one evaluation; no login had failed, and one hour is not over.
    await expect.poll(empty, { timeout: 120_000, interval: 1_000 }).toEqual([])
  })

  it('evaluates every rule, and none fires', async () => {
    const rules = (await (await fetch(`${prometheusUrl}/api/v1/rules`)).json()) as {
      data: { groups: { rules: { name: string; health: string }[] }[] }
    }
    const states = rules.data.groups.flatMap((group) => group.rules.map(({ health }) => health))
    expect(states).toHaveLength(readRules().length)
    expect(new Set(states)).toEqual(new Set(['ok']))
    expect((await query('ALERTS{alertstate="firing"}')).data?.result).toEqual([])
  })

  it('sees dead workers by the age of the oldest mail, which auth-api reports', async () => {
    const { newUser, post, worker } = services
    await worker.kill('SIGKILL')
    const user = await newUser()
    await post('/login/resetrequest', { email: user.email })
    await expect.poll(() => readValue('sum(up{job="mailer-worker"})'), { timeout: 60_000 }).toBe(0)
    await expect
      .poll(() => readValue('max(latchkey_mail_oldest_unsent_seconds)'), { timeout: 60_000 })
      .toBeGreaterThan(2)
    const pending = () => query('ALERTS{alertname="LatchkeyMailerWorkerDown"}')
    await expect.poll(async () => (await pending()).data?.result.length, { timeout: 60_000 }).toBe(1)
  })
})
