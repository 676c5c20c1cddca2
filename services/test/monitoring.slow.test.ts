import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { aMailJob } from '@latchkey/shared/mail/queue/test/a-mail-job.ts'
import { docker, imageOf, ROOT, type ServiceName } from '@latchkey/test-support/images.ts'
import { builtServiceImages } from '@latchkey/test-support/servers/shared-server.ts'
import { RedisContainer } from '@testcontainers/redis'
import { GenericContainer, Wait } from 'testcontainers'
import { beforeAll, describe, expect, it } from 'vitest'

beforeAll(builtServiceImages)

/** The settings that a start needs; nothing answers at these addresses. */
const SETTINGS = {
  APP_ENV: 'dev',
  HOST: '0.0.0.0',
  JWT_SECRET: Buffer.from(Array.from({ length: 64 }, (_, index) => index)).toString('base64'),
  MAIL_SECRET: Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64'),
  DATABASE_URL: 'postgres://latchkey@127.0.0.1:1/latchkey',
  QUEUE_URL: 'redis://127.0.0.1:1',
  MAIL_URL: 'null:',
}

/** The names of all metrics that a service reports. */
async function metricsOf(service: ServiceName, port: number): Promise<string[]> {
  await using container = await new GenericContainer(imageOf(service))
    .withEnvironment(SETTINGS)
    .withExposedPorts(port)
    .withWaitStrategy(Wait.forHttp('/metrics', port))
    .start()
  const answer = await fetch(`http://${container.getHost()}:${container.getMappedPort(port)}/metrics`)
  const text = await answer.text()
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
}

describe('what is watched', () => {
  it('is named in the alerts and the dashboard only as a service reports it', async () => {
    const metrics = await Promise.all([metricsOf('auth-api', 9464), metricsOf('mailer-worker', 9465)])
    const known = new Set(metrics.flat())
    const files = ['deploy/monitoring/rules.yaml', 'deploy/k8s/components/monitoring/dashboard.json']
    const text = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join()
    const named = text.match(/\b(latchkey|http_request|nodejs|process)_\w+[a-z]\b/g) ?? []
    expect(named.length).toBeGreaterThan(40)
    const unknown = named.filter((name) => !known.has(name.replace(/_(count|bucket|sum)$/, '')))
    expect(unknown).toEqual([])
  })

  it('is, for KEDA, the list in which BullMQ keeps waiting mails', async () => {
    const manifest = readFileSync(
      join(ROOT, 'deploy/k8s/components/mail-scaling-keda/scaled-object.yaml'),
      'utf8',
    )
    const [, list = ''] = /listName: '([^']+)'/.exec(manifest) ?? []
    await using redis = await new RedisContainer('redis:8').start()
    const queue = openMailQueue(redis.getConnectionUrl(), { readInstallation: async () => '000000000000' })
    for (let index = 0; index < 3; index++) await queue.add(randomUUID(), aMailJob())
    await queue.close()
    expect(await docker('exec', redis.getId(), 'redis-cli', 'llen', list)).toBe('3')
  })
})
