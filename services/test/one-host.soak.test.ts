import { randomUUID } from 'node:crypto'
import { addUser, CREDENTIALS, openProxy, proxyEnvironment } from '@latchkey/test-support/behind-proxy.ts'
import { type ComposeProject, startProject } from '@latchkey/test-support/compose-project.ts'
import { docker, SERVICES } from '@latchkey/test-support/images.ts'
import { keepLoggingIn, longestGap } from '@latchkey/test-support/keep-logging-in.ts'
import { describe, expect, it, onTestFinished } from 'vitest'

const FILES = ['docker-compose.prod.yml']
const SMTP_PASSWORD = 'the-password-of-the-mail-server'
/** A mail server that accepts a connection, and whose URL contains a password. */
const MAIL_URL = `null://robot:${SMTP_PASSWORD}@mail.example.com`
const ENVIRONMENT = {
  API_SERVER: 'https://login.example.com',
  MAIL_FROM: 'no-reply@example.com',
  MAILER_WORKERS: '2',
}
const AS_DEV = 'COMPOSE_FILE=docker-compose.yml'
const AS_MYSQL = 'COMPOSE_PROFILES=mysql'

describe('one host in production', () => {
  it('refuses a command for another environment or database, and leaves what runs as it is', async () => {
    const project = await startProject({ files: FILES, environment: ENVIRONMENT, mailUrl: MAIL_URL })
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

    // A command that skips compose's own check meets that of the secrets.
    const seed = `docker compose run --rm --no-deps -e APP_ENV=dev demo-users node scripts/local/seed-demo-users.ts`
    expect(await refused(seed)).toContain('belong to prod. Set APP_ENV=prod')
    expect(await inside('postgres', 'psql -U latchkey -tAc "select count(*) from users"')).toBe('0')

    // `docker inspect` shows the environment of a container to all who may use the engine.
    expect(await project.containersOf('mailer-worker')).toHaveLength(2)
    expect(await inside('mailer-worker', 'cat /run/secrets/credentials.env')).toContain(SMTP_PASSWORD)
    for (const { HostConfig, ...container } of await inspectAll(project)) {
      expect(JSON.stringify(container)).not.toContain(SMTP_PASSWORD)
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
    expect(await compose('ps', '--services')).not.toMatch(/postgres|redis|auth-api|mailer-worker/)
    await shell(`${AS_DEV} docker compose down`)

    // With the tables and secrets that it had.
    await compose('up', '--wait')
    await compose('down', '--volumes')
    expect(
      await docker('volume', 'ls', '--quiet', '--filter', `label=com.docker.compose.project=${project.name}`),
    ).toBe('')
  })

  it('is upgraded without a lost login behind the proxy, and without a restart of its database or of Redis', async () => {
    // Compose labels an image with the project that builds it, so this one has its own images.
    const [own, next] = ['own', 'next'].map((name) => `${name}-${randomUUID().slice(0, 8)}`)
    for (const service of SERVICES) {
      for (const version of [own, next]) removeAtEnd(`latchkey/${service}:${version}`)
    }
    removeAtEnd(`latchkey/scriptify:${next}`)
    const proxy = await proxyEnvironment()
    const project = await startProject({
      files: FILES,
      environment: {
        ...ENVIRONMENT,
        ...proxy,
        LATCHKEY_VERSION: String(own),
      },
      mailUrl: MAIL_URL,
    })
    const before = await idsOf(project)
    await project.shell('docker compose up --build --wait')
    expect(await idsOf(project), 'built again, of the same sources').toEqual(before)

    await addUser(project)
    const http = proxy.PROXY_HTTP_PORT.split(':')[1]
    const redirect = await fetch(`http://localhost:${http}/health/live`, { redirect: 'manual' })
    expect(redirect.status).toBe(308)
    expect((await fetch(`http://127.0.0.1:${http}/health/live`)).status, 'another host').toBe(421)
    const post = await openProxy(project, proxy)
    const behindProxy = () => post('/login', CREDENTIALS)
    await expect.poll(behindProxy).toBe(200)

    const throughProxy = keepLoggingIn(behindProxy)
    // Sees only one replica, as clients of a host without the proxy do.
    const direct = keepLoggingIn(async () => (await project.post('/login', CREDENTIALS)).status)
    const upgrade = `LATCHKEY_VERSION=${next} ./upgrade-one-host.sh`
    await expect(project.shell(`LOGIN_FIELD=phone ${upgrade}`)).rejects.toThrow('LOGIN_FIELD must be')
    expect(
      direct.attempts.filter(({ isAnswered }) => !isAnswered),
      'a setting that is refused',
    ).toEqual([])
    await leaveHalfReplaced(project)
    await project.shell(upgrade)
    await expect.poll(() => direct.attempts.at(-1)?.isAnswered).toBe(true)
    await Promise.all([throughProxy.stop(), direct.stop()])

    const after = await idsOf(project)
    const kept = ['postgres', 'prepare-postgres', 'proxy', 'redis']
    expect(
      Object.keys(after)
        .filter((service) => after[service] === before[service])
        .sort(),
    ).toEqual(kept)

    expect(throughProxy.attempts.filter(({ isAnswered }) => !isAnswered)).toEqual([])
    const [worker = '', api = ''] = await Promise.all(
      ['mailer-worker', 'auth-api'].map(async (service) => {
        const [id = ''] = await project.containersOf(service)
        return docker('inspect', '--format', '{{.State.StartedAt}}', id)
      }),
    )
    expect(worker < api, 'mailer-worker before auth-api').toBe(true)

    const duringCrash = keepLoggingIn(behindProxy)
    await expect.poll(() => duringCrash.attempts.length).toBeGreaterThan(2)
    const [crashed = ''] = await project.containersOf('auth-api')
    await docker('kill', crashed)
    const atCrash = duringCrash.attempts.length
    await expect.poll(() => duringCrash.attempts.length).toBeGreaterThan(atCrash + 20)
    await duringCrash.stop()
    // One login at a time: the one that the crashed replica was answering.
    expect(duringCrash.attempts.filter(({ isAnswered }) => !isAnswered).length).toBeLessThanOrEqual(1)

    const lost = direct.attempts.filter(({ isAnswered }) => !isAnswered)
    const [first, last] = [lost[0]?.at ?? 0, lost.at(-1)?.at ?? 0]
    console.log(
      `${throughProxy.attempts.length} logins through the proxy, none lost; without it ${lost.length} of ${direct.attempts.length}, and no answer for ${longestGap(direct.attempts)} ms`,
    )
    const commit = (await project.shell('git rev-parse HEAD')).trim()
    for (const service of SERVICES) {
      const [{ Config }] = JSON.parse(await docker('image', 'inspect', `latchkey/${service}:${next}`))
      expect(Config.Labels['org.opencontainers.image.revision']).toContain(commit)
    }
    // One gap, after the build and the migration.
    expect(direct.attempts.filter(({ at, isAnswered }) => isAnswered && at > first && at < last)).toEqual([])
    const migrating = await docker('logs', '--timestamps', String(after.migrate))
    if (lost.length > 0) expect(first).toBeGreaterThan(Date.parse(String(migrating.split(' ')[0])))
  })
})

/** Leaves a replica as an upgrade does that is killed after compose has created the next container, and before it stops the present one. */
async function leaveHalfReplaced({ name, containersOf }: ComposeProject): Promise<void> {
  const [present = ''] = await containersOf('auth-api')
  const [{ Config }] = JSON.parse(await docker('inspect', present))
  const labels = Object.entries(Config.Labels).flatMap(([key, value]) => ['--label', `${key}=${value}`])
  await docker('create', '--name', `${present.slice(0, 12)}_${name}-auth-api-1`, ...labels, Config.Image)
}

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
  HostConfig: { LogConfig: unknown }
}

async function inspectAll({ compose }: ComposeProject): Promise<Inspected[]> {
  const ids = (await compose('ps', '--all', '--quiet')).split('\n')
  return JSON.parse(await docker('inspect', ...ids))
}

function removeAtEnd(image: string): void {
  onTestFinished(async () => void (await docker('rmi', '--force', image)))
}
