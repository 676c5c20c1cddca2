import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ComposeProject, startProject } from './support/compose-project.ts'
import { docker, imageOf, run, SERVICES } from './support/images.ts'

const FILES = ['docker-compose.prod.yml']
const SMTP_PASSWORD = 'the-password-of-the-mail-server'
const ENVIRONMENT = {
  API_SERVER: 'https://login.example.com',
  // A mail server that accepts a connection, and whose URL contains a password.
  MAIL_URL: `null://robot:${SMTP_PASSWORD}@mail.example.com`,
  MAIL_FROM: 'no-reply@example.com',
  MAILER_WORKERS: '2',
}
const AS_DEV = 'COMPOSE_FILE=docker-compose.yml'
const AS_MYSQL = 'COMPOSE_PROFILES=mysql'

describe('one host in production', () => {
  it('refuses a command for another environment or database, and leaves what runs as it is', async () => {
    const project = await startProject({ files: FILES, environment: ENVIRONMENT })
    const { compose, inside, post, shell } = project
    const before = await idsOf(project)
    const refused = async (command: string) => {
      const outcome: unknown = await shell(command).catch((error: unknown) => error)
      return outcome instanceof Error && 'stderr' in outcome ? String(outcome.stderr) : `ran: ${outcome}`
    }

    for (const wrong of [AS_DEV, AS_MYSQL, `${AS_DEV} ${AS_MYSQL}`]) {
      for (const command of ['up --wait', 'run --rm migrate', 'run --rm scriptify run Users::list']) {
        const message = await refused(`${wrong} docker compose ${command}`)
        expect(message, command).toMatch(/environment-prod\.profile-postgres\.files-docker-compose\.yml-/)
      }
    }
    expect(await idsOf(project)).toEqual(before)
    expect((await post('/login', { username: 'admin@example.com', password: '!P4ssw0rdstr!' })).status).toBe(
      401,
    )

    // What skips compose's own check meets that of the secrets.
    const seed = `docker compose run --rm --no-deps -e APP_ENV=dev demo-users node scripts/seed-demo-users.ts`
    expect(await refused(seed)).toContain('belong to prod. Set APP_ENV=prod')
    expect(await inside('postgres', 'psql -U latchkey -tAc "select count(*) from users"')).toBe('0')

    // `docker inspect` shows the environment of a container to all who may use the engine.
    const workers = new Set(await project.containersOf('mailer-worker'))
    expect(workers.size).toBe(2)
    for (const { Id, HostConfig, ...container } of await inspectAll(project)) {
      expect(JSON.stringify(container).includes(SMTP_PASSWORD)).toBe(workers.has(Id))
      expect(HostConfig.LogConfig).toEqual({
        Type: 'json-file',
        Config: { 'max-file': '5', 'max-size': '10m' },
      })
    }

    await compose('up', '--wait')
    expect(await idsOf(project), 'a second up').toEqual(before)

    await compose('down')
    expect(await refused(`${AS_DEV} docker compose up --wait`)).toContain('prepare-postgres')
    const line =
      'Put COMPOSE_FILE=docker-compose.yml:docker-compose.prod.yml and COMPOSE_PROFILES=postgres into .env'
    expect(await shell(`${AS_DEV} docker compose logs prepare-postgres`)).toContain(line)
    expect(await compose('ps', '--services')).not.toMatch(/postgres|auth-api|mailer-worker/)
    await shell(`${AS_DEV} docker compose down`)

    // With the tables and secrets that it had.
    await compose('up', '--wait')
    await compose('down', '--volumes')
    expect(
      await docker('volume', 'ls', '--quiet', '--filter', `label=com.docker.compose.project=${project.name}`),
    ).toBe('')
  })

  it('is upgraded without a restart of its database or of Redis', async () => {
    // Compose labels an image with the project that builds it, so this one has images of its own.
    const [own, next] = ['own', 'next'].map((name) => `${name}-${randomUUID().slice(0, 8)}`)
    for (const service of SERVICES) removeAtEnd(`latchkey/${service}:${own}`)
    const project = await startProject({
      files: FILES,
      environment: { ...ENVIRONMENT, LATCHKEY_VERSION: String(own) },
    })
    const stable = ['postgres', 'prepare-postgres', 'redis']
    const before = await idsOf(project)
    await project.shell('docker compose up --build --wait')
    expect(await idsOf(project), 'built again, of the same sources').toEqual(before)

    for (const service of SERVICES) await buildNext(imageOf(service), `latchkey/${service}:${next}`)
    await project.shell(`LATCHKEY_VERSION=${next} docker compose up --wait`)
    const after = await idsOf(project)
    const replaced = Object.keys(after).filter((service) => after[service] !== before[service])
    expect(replaced.sort()).toEqual(
      Object.keys(before)
        .filter((service) => !stable.includes(service))
        .sort(),
    )
  })
})

/** The containers of each service, stopped ones included. */
async function idsOf({ compose }: ComposeProject): Promise<Record<string, string>> {
  const lines = (await compose('ps', '--all', '--format', '{{.Service}} {{.ID}}')).split('\n').sort()
  const ids: Record<string, string> = {}
  for (const line of lines) {
    const [service = '', id = ''] = line.split(' ')
    ids[service] = `${ids[service] ?? ''} ${id}`.trim()
  }
  return ids
}

interface Inspected {
  Id: string
  HostConfig: { LogConfig: unknown }
}

async function inspectAll({ compose }: ComposeProject): Promise<Inspected[]> {
  const ids = (await compose('ps', '--all', '--quiet')).split('\n')
  return JSON.parse(await docker('inspect', ...ids))
}

/** Another image with the same contents, as a new version would be. */
async function buildNext(image: string, name: string): Promise<void> {
  const building = run('docker', ['build', '--quiet', '--tag', name, '-'], { cwd: tmpdir() })
  building.child.stdin?.end(`FROM ${image}\nLABEL version=next\n`)
  await building
  removeAtEnd(name)
}

function removeAtEnd(image: string): void {
  onTestFinished(async () => void (await docker('rmi', '--force', image)))
}
