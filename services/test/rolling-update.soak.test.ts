import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { docker, imageOf, logsOf, ROOT } from '@latchkey/test-support/images.ts'
import { startServers } from '@latchkey/test-support/mail-servers.ts'
import { openProducer } from '@latchkey/test-support/producer.ts'
import { builtServiceImages } from '@latchkey/test-support/servers/shared-server.ts'
import autocannon from 'autocannon'
import { GenericContainer, Network, type StartedNetwork, Wait } from 'testcontainers'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'

beforeAll(builtServiceImages)

const REQUESTS_PER_SECOND = 200
const PORT = 8080
const CREDENTIALS = { username: 'ada@example.com', password: 'c0rrect-Horse!' }
const HOST = [{ host: 'host.docker.internal', ipAddress: 'host-gateway' }]
const fromContainer = (url: string) => url.replace('127.0.0.1', 'host.docker.internal')

describe('replacing auth-api replica by replica', () => {
  it(`fails none of ${REQUESTS_PER_SECOND} requests a second, with a migration in between and on the way back`, async () => {
    await using network = await new Network().start()
    await using servers = await startServers('PostgreSQL + Redis')
    const settings = {
      APP_ENV: 'prod',
      API_SERVER: 'https://login.example.com',
      JWT_SECRET: randomBytes(64).toString('base64'),
      MAIL_SECRET: randomBytes(32).toString('base64'),
      DATABASE_URL: fromContainer(servers.databaseUrl),
      QUEUE_URL: fromContainer(servers.queueUrl),
      // The load is one address and one user.
      RATE_LIMIT_LOGIN: '0',
      RATE_LIMIT_REQUESTS: '0',
      RATE_LIMIT_RESET: '0',
      SHUTDOWN_DELAY: '3',
    }
    await addUser(servers)
    const present = imageOf('auth-api')
    await using next = await buildNextVersion(present)
    await using replicas = new AsyncDisposableStack()
    const replica = async (alias: string, image: string) => {
      const started = await startReplica({ network, alias, image, settings })
      replicas.defer(async () => void (await docker('rm', '--force', started).catch(() => undefined)))
      return started
    }

    const first = await replica('replica-1', present)
    const second = await replica('replica-2', present)
    await using proxy = await startProxy(network)
    const url = `http://${proxy.getHost()}:${proxy.getMappedPort(PORT)}`
    const token = await logIn(url)
    const load = startLoad(url, token)

    const migrate = ['node', 'scripts/release/migrate.ts', 'up']
    const variables = Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    const toHost = ['--add-host', 'host.docker.internal:host-gateway']
    const migrated = await docker('run', '--rm', ...toHost, ...variables, next.image, ...migrate)
    expect(migrated).toContain('9999_nickname')

    const third = await replica('replica-3', next.image)
    await stop(first)
    const fourth = await replica('replica-4', next.image)
    await stop(second)
    // And back: the older version on the newer tables.
    const firstAgain = await replica('replica-1', present)
    await stop(third)
    const secondAgain = await replica('replica-2', present)
    await stop(fourth)

    const result = await load.stop()
    await Promise.all([stop(firstAgain), stop(secondAgain)])
    console.log(
      `${result['2xx']} requests in ${result.duration} s, p99 ${result.latency.p99} ms, slowest ${result.latency.max} ms`,
    )
    const seen = `${JSON.stringify(result.statusCodeStats)}\n${await logsOf(proxy.getId())}`
    expect(result, seen).toMatchObject({
      non2xx: 0,
      errors: 0,
      timeouts: 0,
      resets: 0,
    })
    expect(result['2xx']).toBeGreaterThan(1_000)
  }, 300_000)
})

async function addUser(servers: Parameters<typeof openProducer>[0]): Promise<void> {
  await using store = await openProducer(servers, randomBytes(32))
  const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 1 })
  const passwordHash = await passwords.hash(CREDENTIALS.password)
  await passwords.close()
  const user = { email: CREDENTIALS.username, username: 'ada', name: 'Ada', role: 'user' }
  await createUserRepository(store.db).insert({ ...user, passwordHash })
}

/** The image with one more migration, as a next version has it. */
async function buildNextVersion(present: string) {
  const context = await mkdtemp(join(tmpdir(), 'latchkey-next-'))
  const image = `${present}-next`
  const name = '9999_nickname'
  await writeFile(join(context, `${name}.up.sql`), 'alter table users add column nickname varchar(50);\n')
  await writeFile(join(context, `${name}.down.sql`), 'alter table users drop column nickname;\n')
  await writeFile(
    join(context, 'Dockerfile'),
    `FROM ${present}\nCOPY *.sql shared/database/migrations/postgres/\n`,
  )
  await docker('build', '--quiet', '--tag', image, context)
  await rm(context, { recursive: true })
  return { image, [Symbol.asyncDispose]: async () => void (await docker('image', 'rm', '--force', image)) }
}

interface ReplicaOptions {
  network: StartedNetwork
  alias: string
  image: string
  settings: Record<string, string>
}

/** Returns its id once it is ready; only then can the proxy resolve it, as a Service lists only ready endpoints. */
async function startReplica({ network, alias, image, settings }: ReplicaOptions): Promise<string> {
  const started = await new GenericContainer(image)
    .withExtraHosts(HOST)
    .withEnvironment(settings)
    .withWaitStrategy(Wait.forHealthCheck())
    .start()
  await docker('network', 'connect', '--alias', alias, network.getName(), started.getId())
  return started.getId()
}

/** Stops a replica as Kubernetes does; fails with its log when the stop was not graceful. */
async function stop(container: string): Promise<void> {
  await docker('stop', '--time', '25', container)
  const code = await docker('inspect', '--format', '{{.State.ExitCode}}', container)
  expect(code, await logsOf(container)).toBe('0')
  await docker('rm', container)
}

async function startProxy(network: StartedNetwork) {
  const image = await GenericContainer.fromDockerfile(join(ROOT, 'test-support/proxy')).build()
  const proxy = await image.withNetwork(network).withExposedPorts(PORT).start()
  const url = `http://${proxy.getHost()}:${proxy.getMappedPort(PORT)}/health/live`
  await expect.poll(async () => (await fetch(url)).status, { timeout: 30_000 }).toBe(200)
  return proxy
}

async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(CREDENTIALS),
  })
  return ((await response.json()) as { token: string }).token
}

/** Sends the requests of clients until `stop()`, at the latest until the end of the test. */
function startLoad(url: string, token: string) {
  const json = { 'content-type': 'application/json' }
  const ping = { path: '/sampleprotected/ping', headers: { authorization: `Bearer ${token}` } }
  const { promise, resolve, reject } = Promise.withResolvers<autocannon.Result>()
  const instance = autocannon(
    {
      url,
      connections: 20,
      overallRate: REQUESTS_PER_SECOND,
      duration: 600,
      requests: [
        ...Array(17).fill(ping),
        { path: '/profile', headers: ping.headers },
        { method: 'POST', path: '/login', headers: json, body: JSON.stringify(CREDENTIALS) },
        { method: 'POST', path: '/login/resetrequest', headers: json, body: '{"email":"ada@example.com"}' },
      ],
    },
    (error, result) => (error ? reject(error) : resolve(result)),
  )
  onTestFinished(() => void instance.stop())
  return {
    stop(): Promise<autocannon.Result> {
      instance.stop()
      return promise
    },
  }
}
