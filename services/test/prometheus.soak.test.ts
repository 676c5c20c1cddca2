import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { addressOf, type Service, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { docker, ROOT } from '@latchkey/test-support/images.ts'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { type RunningServices, startServices } from '@latchkey/test-support/running-services.ts'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readAlerts, readRules } from '../../deploy/monitoring/rules.ts'

const hasPrometheus = isInstalled('prometheus', { requiredBy: 'REQUIRE_PROMTOOL' })

const UNITS = { m: 1, h: 60, d: 24 * 60 }
/** The rules that are shipped, where an hour is a minute: an alert `for: 5m` fires after five seconds. */
const shorten = (rules: string): string =>
  rules
    .replaceAll(/\b(\d+)([mhd])\b/g, (_, number, unit: 'm' | 'h' | 'd') => `${number * UNITS[unit]}s`)
    .replaceAll(/(_seconds\) > )(\d\d+)/g, (_, before, seconds) => before + seconds / 60)

/** The alerts whose faults are those of Kubernetes: promtool has their tests. */
const isOfKubernetes = ({ expr }: { expr: string }) => expr.startsWith('kube_')

describe.skipIf(!hasPrometheus)('a real Prometheus', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-prometheus-'))
  let services: RunningServices
  let users: TestUser[]
  let second: Service
  let host: StartedTestContainer
  let prometheus: ChildProcess
  let prometheusUrl: string
  const ports = { api: 0, second: 0 }
  const jwtSecret = randomBytes(64).toString('base64')
  let healthyLoad: Load
  /** The alerts that have fired by their faults so far. */
  const caused = new Set<string>()

  /** Names what is scraped, as the addresses of a service's name do on one host. */
  function scrape(targets: Record<'auth-api' | 'mailer-worker', string[]>): void {
    const jobs = Object.entries(targets).map(([job, of]) => ({ targets: of, labels: { job } }))
    writeFileSync(join(folder, 'targets.new'), JSON.stringify(jobs))
    renameSync(join(folder, 'targets.new'), join(folder, 'targets.json'))
  }
  const scrapeAll = (further: Partial<Parameters<typeof scrape>[0]> = {}) =>
    scrape({
      'auth-api': [ports.api, ports.second]
        .map((port) => `127.0.0.1:${port}`)
        .concat(further['auth-api'] ?? []),
      'mailer-worker': [new URL(services.worker.url).host].concat(further['mailer-worker'] ?? []),
    })

  beforeAll(async () => {
    ports.api = await findFreePort()
    ports.second = await findFreePort()
    services = await startServices('PostgreSQL + Redis', {
      api: {
        METRICS_PORT: String(ports.api),
        DATABASE_POOL: '4',
        JWT_SECRET: jwtSecret,
        HASH_CONCURRENCY: '1',
        TRUST_PROXY: '127.0.0.1',
        // As in the image with 512 MiB: with those of this machine the flood of logins leaves more than the alert allows.
        NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=268',
      },
    })
    const { databaseUrl, queueUrl } = services.servers
    second = startAuthApiProcess({
      DATABASE_URL: databaseUrl,
      QUEUE_URL: queueUrl,
      METRICS_PORT: String(ports.second),
    })
    users = await services.newUsers(60)
    host = await startNodeExporter()
    scrapeAll()

    const port = await findFreePort()
    prometheusUrl = `http://127.0.0.1:${port}`
    const rules = readFileSync(join(ROOT, 'deploy/monitoring/rules.yaml'), 'utf8')
    writeFileSync(join(folder, 'rules.yaml'), shorten(rules))
    const config = {
      global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
      rule_files: [join(folder, 'rules.yaml')],
      scrape_configs: [
        { job_name: 'latchkey', file_sd_configs: [{ files: [join(folder, 'targets.json')] }] },
        {
          job_name: 'latchkey-host',
          static_configs: [{ targets: [`127.0.0.1:${host.getMappedPort(9100)}`] }],
        },
        // Another installation, whose auth-api is up all the time.
        {
          job_name: 'auth-api',
          static_configs: [{ targets: [`127.0.0.1:${port}`], labels: { namespace: 'other' } }],
        },
      ],
    }
    writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(config))
    prometheus = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yaml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    )
    await waitFor(async () => (await query('up').catch(() => undefined))?.status === 'success')
    healthyLoad = startLoad(1, async () => {
      const user = someUser()
      await logIn(user, PASSWORD)
      await services.request(user.email)
      await wait(1_000)
    })
  })
  afterAll(async () => {
    await healthyLoad?.stop()
    if (prometheus) {
      prometheus.kill('SIGKILL')
      await once(prometheus, 'exit')
    }
    await host?.stop()
    await second?.[Symbol.asyncDispose]()
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
  /** Those of `alerts` that are firing. */
  async function listFiring(alerts: readonly string[]): Promise<string[]> {
    const { data } = await query(`group by (alertname) (ALERTS{alertstate="firing",namespace=""})`)
    const firing = new Set((data?.result ?? []).map(({ metric }) => metric.alertname))
    return alerts.filter((alert) => firing.has(alert))
  }

  const someUser = () => users[Math.floor(Math.random() * users.length)] as TestUser
  /** Each request comes from another address: the limits of one address are not what is tested. */
  const elsewhere = () => ({
    'x-forwarded-for': `10.${[0, 0, 0].map(() => Math.floor(Math.random() * 256)).join('.')}`,
  })
  const logIn = ({ email }: { email: string }, password: string) =>
    services.post('/login', { username: email, password }, elsewhere())

  it('shows a value for every panel of the dashboard while users log in and ask for mail', async () => {
    const { panels: all }: { panels: { title: string; targets?: { expr: string }[] }[] } = JSON.parse(
      readFileSync(join(ROOT, 'deploy/k8s/components/monitoring/dashboard.json'), 'utf8'),
    )
    const panels = all.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '1m') })),
    )
    const empty = async () => {
      await fetch(`${services.origin}/openapi.json`)
      const answers = await Promise.all(
        panels.map(async (panel) => ({ ...panel, ...(await query(panel.expr)) })),
      )
      for (const { title, error } of answers) expect(error, title).toBeUndefined()
      return answers
        .filter(({ data }) => data?.result.length === 0)
        .map(({ title, expr }) => `${title}: ${expr}`)
    }
    await expect.poll(empty, { timeout: 120_000, interval: 1_000 }).toEqual([])
  })

  it('evaluates every rule, and none fires in healthy load', async () => {
    const listHealth = async () => {
      const rules = (await (await fetch(`${prometheusUrl}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { name: string; health: string }[] }[] }
      }
      return rules.data.groups.flatMap((group) => group.rules.map(({ health }) => health))
    }
    await expect.poll(listHealth, { timeout: 30_000 }).toEqual(readRules().map(() => 'ok'))
    // Longer than the `for` of every alert. Before the first scrape nothing is up.
    await wait(25_000)
    expect((await query('max_over_time(ALERTS{alertstate="firing"}[20s])')).data?.result).toEqual([])
  })

  interface Fault {
    why: string
    alerts: string[]
    /** Causes the fault; resolves with the function that ends it. */
    cause: () => Promise<() => unknown>
  }
  const faults: Fault[] = [
    {
      why: 'the mail server refuses mail for good',
      alerts: ['LatchkeyMailFailed', 'LatchkeyMailBudgetFast', 'LatchkeyMailBudgetSlow'],
      cause: async () => {
        const load = startLoad(1, async () => {
          const email = `refused-${Math.random()}@example.com`
          services.mailbox.answers.set(email, [550])
          await services.store.request(email)
          await wait(200)
        })
        return load.stop
      },
    },
    {
      why: 'the mail server is down, mails expire, and Redis is emptied',
      alerts: ['LatchkeyMailDelayed', 'LatchkeyMailNotSent', 'LatchkeyMailExpired', 'LatchkeyMailRestored'],
      cause: async () => {
        await services.mailbox.goDown()
        const load = startLoad(1, async () => {
          const expiresAt = new Date(Date.now() + 3_000).toISOString()
          await services.store.request('expires@example.com', { expiresAt })
          await services.store.request('waits@example.com')
          await wait(3_000)
          await services.servers.flushQueue()
          await wait(12_000)
        })
        return async () => {
          await load.stop()
          await services.mailbox.comeUp()
        }
      },
    },
    {
      why: 'Redis is down',
      alerts: ['LatchkeyDependencyDown', 'LatchkeyQueueUnavailable'],
      cause: async () => {
        const end = Promise.withResolvers<void>()
        const outage = services.servers.withoutQueue(() => end.promise)
        return async () => {
          end.resolve()
          await outage
          await services.worker.ready()
        }
      },
    },
    {
      why: 'mails are accepted faster than they are sent',
      alerts: ['LatchkeyMailBacklog'],
      cause: async () => {
        await replaceWorker({ MAIL_RATE: '1' })
        let accepted = 0
        const load = startLoad(3, async () => {
          if (accepted++ < 530) await services.store.request(`many-${accepted}@example.com`)
          else await wait(100)
        })
        return async () => {
          await load.stop()
          await replaceWorker()
        }
      },
    },
    {
      why: 'the database locks a table again and again',
      alerts: ['LatchkeyConnectionsExhausted'],
      cause: async () => {
        // It lasts no longer: a scrape, which waits for a connection too, has two seconds.
        const locks = startLoad(1, () =>
          services.store.db.transaction(async (transaction) => {
            await transaction.execute({
              name: 'test-lock',
              text: 'lock table users in access exclusive mode',
            })
            await transaction.query({ name: 'test-sleep', text: 'select pg_sleep(0.25)' })
          }),
        )
        const resets = startLoad(12, () => services.request('nobody@example.com'))
        return () => Promise.all([locks.stop(), resets.stop()])
      },
    },
    {
      why: 'more users log in than the CPU can hash passwords for',
      alerts: [
        'LatchkeyLoginOverloaded',
        'LatchkeyErrors',
        'LatchkeyLoginSlow',
        'LatchkeyLoginBudgetFast',
        'LatchkeyLoginBudgetSlow',
      ],
      cause: async () => startLoad(150, () => logIn(someUser(), PASSWORD)).stop,
    },
    {
      why: 'passwords and codes are guessed',
      alerts: ['LatchkeyPasswordGuessing', 'LatchkeyCodeGuessing'],
      cause: async () => {
        const load = startLoad(6, async () => {
          await logIn({ email: `nobody-${Math.random()}@example.com` }, 'guess')
          const guess = { email: someUser().email, code: '000000' }
          await services.post('/login/confirmcode', guess, elsewhere())
          await wait(50)
        })
        return load.stop
      },
    },
    {
      why: 'the database refuses the audit trail',
      alerts: ['LatchkeyAuditDropped'],
      cause: async () => {
        const rename = (from: string, to: string) =>
          services.store.db.execute({ name: `test-${to}`, text: `alter table ${from} rename to ${to}` })
        await rename('audit_event', 'audit_event_gone')
        return () => rename('audit_event_gone', 'audit_event')
      },
    },
    {
      why: 'the database deletes no expired rows',
      alerts: ['LatchkeyPurgeBehind'],
      cause: async () => {
        const execute = (text: string) => services.store.db.execute({ name: `test ${text}`, text })
        await execute('create rule test_keep as on delete to audit_event do instead nothing')
        await execute(
          "insert into audit_event (name, created_at) values ('login.refused', now() - interval '91 days')",
        )
        return async () => {
          await execute('drop rule test_keep on audit_event')
          await replaceWorker()
        }
      },
    },
    {
      why: 'the clock of a replica is ahead',
      alerts: ['LatchkeyClockSkew'],
      cause: async () => {
        const { databaseUrl, queueUrl } = services.servers
        const ahead = startAuthApiProcess(
          { DATABASE_URL: databaseUrl, QUEUE_URL: queueUrl, JWT_SECRET: jwtSecret },
          ['--import', 'data:text/javascript,const{now}=Date;Date.now=()=>now()+10000'],
        )
        const login = await fetch(`${await addressOf(ahead)}/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ username: someUser().email, password: PASSWORD }),
        })
        const { token } = (await login.json()) as { token: string }
        await fetch(`${services.origin}/profile`, { headers: { authorization: `Bearer ${token}` } })
        return () => ahead[Symbol.asyncDispose]()
      },
    },
    {
      why: 'Redis and the disk of the host fill up, and no backup is made',
      alerts: ['LatchkeyRedisMemory', 'LatchkeyDiskFilling', 'LatchkeyBackupTooOld'],
      cause: async () => {
        const redis = services.servers.inQueue
        const inHost = (command: string) => docker('exec', host.getId(), 'sh', '-c', command)
        await redis('config', 'set', 'maxmemory', '64mb')
        await redis(
          'eval',
          `for n = 1, 560 do redis.call('set', 'filler' .. n, string.rep('x', 100000)) end`,
          '0',
        )
        await inHost('head -c 15500000 /dev/zero > /data/filler; touch -d "2 days ago" /textfile/backup.prom')
        return async () => {
          await redis('eval', `for n = 1, 560 do redis.call('del', 'filler' .. n) end`, '0')
          await inHost('rm /data/filler; touch /textfile/backup.prom')
        }
      },
    },
    {
      why: 'processes leak memory, and have no CPU',
      alerts: ['LatchkeyMemory', 'LatchkeyEventLoopLag'],
      cause: async () => {
        const leak = (mib: number) => ({
          NODE_OPTIONS: `--import data:text/javascript,globalThis.leak=Buffer.alloc(${mib * 1024 * 1024},1)`,
        })
        const { databaseUrl, queueUrl } = services.servers
        const servers = { DATABASE_URL: databaseUrl, QUEUE_URL: queueUrl }
        const port = await findFreePort()
        const api = startAuthApiProcess({ ...servers, ...leak(410), METRICS_PORT: String(port) })
        await addressOf(api)
        // The kernel treats a process like this once it has used its share of the CPU.
        const throttle = startLoad(1, async () => {
          api.process.kill('SIGSTOP')
          await wait(300)
          api.process.kill('SIGCONT')
          await wait(100)
        })
        scrapeAll({ 'auth-api': [`127.0.0.1:${port}`] })
        return async () => {
          await throttle.stop()
          await api[Symbol.asyncDispose]()
          scrapeAll()
        }
      },
    },
    {
      why: 'one of two replicas is gone',
      alerts: ['LatchkeyReplicaDown'],
      cause: async () => {
        await second[Symbol.asyncDispose]()
        scrape({
          'auth-api': [`127.0.0.1:${ports.api}`],
          'mailer-worker': [new URL(services.worker.url).host],
        })
        return () => undefined
      },
    },
    {
      why: 'every process is dead, while another installation is up',
      alerts: ['LatchkeyAuthApiDown', 'LatchkeyMailerWorkerDown'],
      cause: async () => {
        await healthyLoad.stop()
        await services.worker.kill('SIGKILL')
        services.api.process.kill('SIGKILL')
        return () => undefined
      },
    },
  ]

  async function replaceWorker(settings?: Record<string, string>): Promise<void> {
    await services.worker.kill('SIGTERM')
    services.worker = await services.startWorker(settings)
    await services.worker.ready()
    scrapeAll()
  }

  it.each(faults)('fires when $why', async ({ alerts, cause }) => {
    // Nothing is left of the fault before.
    await expect.poll(() => listFiring(alerts), { timeout: 120_000, interval: 500 }).toEqual([])
    const end = await cause()
    try {
      const waiting = new Set(alerts)
      const listWaiting = async () => {
        for (const alert of await listFiring(alerts)) waiting.delete(alert)
        return [...waiting]
      }
      await expect.poll(listWaiting, { timeout: 120_000, interval: 500 }).toEqual([])
      for (const alert of alerts) caused.add(alert)
    } finally {
      await end()
    }
  })

  it('has a fault for every alert, except those of Kubernetes', () => {
    const expected = readAlerts().filter((alert) => !isOfKubernetes(alert))
    expect([...caused].sort()).toEqual(expected.map(({ alert }) => alert).sort())
  })
})

interface Load {
  stop(): Promise<void>
}

/** Runs `act` again and again, `count` at a time, until `stop()`. A request that fails is one that the fault has hit. */
function startLoad(count: number, act: () => Promise<unknown>): Load {
  let isEnding = false
  const loops = Array.from({ length: count }, async () => {
    while (!isEnding) await act().catch(() => wait(100))
  })
  return {
    async stop() {
      isEnding = true
      await Promise.all(loops)
    },
  }
}

/** The exporter of docker-compose.monitoring.yml on a host whose disk has 16 MB and whose backup is of now. */
async function startNodeExporter(): Promise<StartedTestContainer> {
  const { services } = parse(readFileSync(join(ROOT, 'deploy/docker-compose.monitoring.yml'), 'utf8'))
  const command: string[] = services['node-exporter'].command
  const image = await GenericContainer.fromDockerfile(join(ROOT, 'test-support/node-exporter')).build()
  return image
    .withTmpFs({ '/data': 'rw,size=16m', '/textfile': 'rw' })
    .withCommand(
      command.filter((flag) => !flag.startsWith('--path.rootfs')).map((flag) => flag.replace('$$', '$')),
    )
    .withCopyContentToContainer([{ content: '', target: '/textfile/backup.prom' }])
    .withExposedPorts(9100)
    .withWaitStrategy(Wait.forHttp('/metrics', 9100))
    .start()
}
