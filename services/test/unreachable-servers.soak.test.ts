import { randomBytes } from 'node:crypto'
import { docker, imageOf, logsOf, run, SERVICES } from '@latchkey/test-support/images.ts'
import { postgresContainer } from '@latchkey/test-support/postgres-container.ts'
import { builtServiceImages } from '@latchkey/test-support/servers/shared-server.ts'
import { GenericContainer, Network, Wait } from 'testcontainers'
import { beforeAll, describe, it } from 'vitest'

beforeAll(builtServiceImages)

const secret = (bytes: number) => randomBytes(bytes).toString('base64')
const PASSWORD = 's3cr3t-in-an-address'
/** Complete and valid. */
const SETTINGS = {
  APP_ENV: 'prod',
  API_SERVER: 'https://login.example.com',
  JWT_SECRET: secret(64),
  MAIL_SECRET: secret(32),
  DATABASE_URL: `postgres://latchkey:${PASSWORD}@database:5432/latchkey`,
  QUEUE_URL: `redis://:${PASSWORD}@queue:6379`,
  MAIL_URL: 'null:',
  MAIL_FROM: 'Latchkey <no-reply@example.com>',
}
/** A line of /proc/net/tcp: port 6379 of the other side, in the state ESTABLISHED. */
const ESTABLISHED_TO_REDIS = /:18EB 01/
const PORTS = { 'auth-api': 8080, 'mailer-worker': 9465 }

describe.concurrent.each(SERVICES)('%s without a reachable server', (service) => {
  // Concurrent tests need the `expect` of their own context.
  it('waits, logs what for, and becomes ready when all of it is reachable', async ({ expect }) => {
    await using network = await new Network().start()
    await using container = await new GenericContainer(imageOf(service))
      .withNetwork(network)
      .withEnvironment(SETTINGS)
      .withExposedPorts(PORTS[service])
      .withWaitStrategy(Wait.forLogMessage('not ready, waiting'))
      .start()
    const log = () => logsOf(container.getId())
    const waitsFor = async () => (await log()).match(/"waitsFor":\[.*?\]/g)?.at(-1) ?? ''
    const ready = async () => {
      const url = `http://${container.getHost()}:${container.getMappedPort(PORTS[service])}/health/ready`
      const response = await fetch(url)
      return [response.status, ((await response.json()) as { checks: unknown }).checks]
    }
    expect(await waitsFor()).toMatch(/database at database:5432.*queue at queue:6379/)
    await expect
      .poll(ready)
      .toMatchObject([503, { database: 'unreachable', queue: 'waits for the database' }])

    await using _database = await postgresContainer()
      .withNetwork(network)
      .withNetworkAliases('database')
      .withUsername('latchkey')
      .withPassword(PASSWORD)
      .withDatabase('latchkey')
      .start()
    const migrate = [
      '-e',
      'DATABASE_URL',
      '-e',
      'QUEUE_URL',
      imageOf('auth-api'),
      'node',
      'scripts/release/migrate.ts',
      'up',
    ]
    await run('docker', ['run', '--rm', '--network', network.getName(), ...migrate], {
      env: { ...process.env, ...SETTINGS },
    })
    if (service === 'auth-api') {
      // Users can log in, and mail waits in the outbox.
      await expect
        .poll(ready, { timeout: 60_000 })
        .toMatchObject([200, { service: 'degraded', database: 'ok' }])
    } else {
      await expect.poll(waitsFor, { timeout: 60_000 }).toMatch(/^"waitsFor":\["queue at queue:6379/)
      await expect.poll(ready).toMatchObject([503, { database: 'ok', queue: 'unreachable' }])
    }

    await using queue = await new GenericContainer('redis:8')
      .withNetwork(network)
      .withNetworkAliases('queue')
      .withCommand(['redis-server', '--requirepass', PASSWORD])
      .start()
    await expect.poll(ready, { timeout: 60_000 }).toMatchObject([200, { database: 'ok', queue: 'ok' }])
    await expect.poll(log, { timeout: 60_000 }).toContain('"msg":"ready"')
    const health = () => docker('inspect', '--format', '{{.State.Health.Status}}', container.getId())
    await expect.poll(health, { timeout: 60_000 }).toBe('healthy')

    await docker('stop', queue.getId())
    if (service === 'auth-api') {
      // Once it was ready, mail waits in the outbox while the queue is unavailable.
      const connections = () => docker('exec', container.getId(), 'cat', '/proc/net/tcp')
      await expect.poll(connections, { timeout: 60_000 }).not.toMatch(ESTABLISHED_TO_REDIS)
      // A success of the check holds for 5 s.
      await expect.poll(ready).toMatchObject([200, { service: 'degraded', database: 'ok' }])
    } else {
      await expect
        .poll(ready, { timeout: 60_000 })
        .toMatchObject([503, { queue: expect.stringMatching(/^(unreachable|no answer)$/) }])
    }
    expect(await log()).not.toContain(PASSWORD)
  })
})
