import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEPLOY, run } from '@latchkey/test-support/images.ts'
import { expect, it } from 'vitest'
import { parse } from 'yaml'

interface ComposeService {
  image: string
  restart?: string
  build?: { args: Record<string, string>; labels: Record<string, string> }
  logging?: { driver: string; options: Record<string, string> }
  environment?: Record<string, string>
  networks?: Record<string, unknown>
  cap_drop?: string[]
  pids_limit?: number
  read_only?: boolean
}

const FILES = ['docker-compose.yml', 'docker-compose.prod.yml', 'docker-compose.monitoring.yml']
const SECRETS = {
  MAIL_URL: 'smtps://robot:the-smtp-password@smtp.example.com',
  BOARD_TOKEN: 'the-token-of-the-page-of-the-queue',
  GRAFANA_PASSWORD: 'the-password-of-grafana',
}

/** The labels of the source, as deploy/build-images.sh sets them. */
const SOURCES = {
  REVISION: '1ce0a3d',
  CREATED: '2026-01-02T03:04:05Z',
  SOURCE: 'https://git.example.com/latchkey',
}

/** Returns what docker compose makes of all files and profiles together. */
async function readServices(): Promise<[string, ComposeService][]> {
  const others = { API_SERVER: 'https://login.example.com', MAIL_FROM: 'no-reply@example.com' }
  const env = {
    ...process.env,
    ...SECRETS,
    ...SOURCES,
    ...others,
    LATCHKEY_VERSION: '9.8.7',
    COMPOSE_FILE: FILES.join(':'),
  }
  const { stdout } = await run('docker', ['compose', '--profile', '*', 'config', '--format', 'json'], {
    cwd: DEPLOY,
    env,
  })
  return Object.entries(JSON.parse(stdout).services)
}

it('rotates the log of every container, and gives each secret to one service', async () => {
  const services = await readServices()
  for (const [name, { logging }] of services) {
    const options = { 'max-size': '10m', 'max-file': '5' }
    expect({ name, logging }).toEqual({ name, logging: { driver: 'json-file', options } })
  }
  const holdersOf = (secret: string) =>
    services
      .filter(([, { environment = {} }]) => Object.values(environment).includes(secret))
      .map(([name]) => name)
  expect(holdersOf(SECRETS.MAIL_URL)).toEqual(['mailer-worker'])
  expect(holdersOf(SECRETS.BOARD_TOKEN)).toEqual(['mailer-worker'])
  expect(holdersOf(SECRETS.GRAFANA_PASSWORD)).toEqual(['grafana'])
})

it('bounds every container', async () => {
  for (const [name, { cap_drop, pids_limit, read_only = false }] of await readServices()) {
    const isReadOnly = !['prometheus', 'grafana'].includes(name)
    const bounds = { name, cap_drop: ['ALL'], pids_limit: 512, read_only: isReadOnly }
    expect({ name, cap_drop, pids_limit, read_only }).toEqual(bounds)
  }
})

it('lets a worker reach the servers and its mail server, and nobody else', async () => {
  const services = await readServices()
  const networks = services.find(([name]) => name === 'mailer-worker')?.[1].networks ?? {}
  const reached = services.filter(([, service]) =>
    Object.keys(service.networks ?? {}).some((name) => name in networks),
  )
  const names = reached.map(([name]) => name).sort()
  expect(names).toEqual(['maildev', 'mailer-worker', 'mysql', 'postgres', 'prometheus', 'redis'])
})

it('labels each image with its version and its sources', async () => {
  const builds = (await readServices()).filter(([, { build }]) => build)
  const images = ['auth-api', 'mailer-worker', 'scriptify'].map((service) => `latchkey/${service}:9.8.7`)
  expect([...new Set(builds.map(([, { image }]) => image))].sort()).toEqual(images)
  for (const [, { build }] of builds) {
    expect(build).toMatchObject({
      args: { VERSION: '9.8.7', REVISION: SOURCES.REVISION },
      labels: {
        'org.opencontainers.image.created': SOURCES.CREATED,
        'org.opencontainers.image.source': SOURCES.SOURCE,
      },
    })
  }
})

it('scrapes every replica', async () => {
  const config = parse(readFileSync(join(DEPLOY, 'monitoring/prometheus.yaml'), 'utf8'))
  const jobs: { dns_sd_configs?: { names: string[] }[] }[] = config.scrape_configs
  const scraped = jobs.flatMap(({ dns_sd_configs = [] }) => dns_sd_configs.flatMap(({ names }) => names))
  const services = (await readServices())
    .filter(([, { image, restart }]) => image.startsWith('latchkey/') && restart === 'unless-stopped')
    .map(([name]) => name)
  expect(scraped.sort()).toEqual(services.sort())
})
