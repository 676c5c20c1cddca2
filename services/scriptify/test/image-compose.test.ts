import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { docker, ROOT, run } from '../../test/support/images.ts'
import { type Ended, endedOf } from './image.ts'
import { hasDocker } from './terminal-docker.ts'

const CREDENTIALS = '{"username":"user@example.com","password":"!P4ssw0rdstr!"}'

// The service of docker-compose.yml, as an admin starts it, beside the whole set.
describe.skipIf(!(await hasDocker())).each(['postgres', 'mysql'])('docker compose run on %s', (profile) => {
  /** For what knows no database. */
  const itOnce = it.runIf(profile === 'postgres')
  const project = `latchkey-test-${randomUUID().slice(0, 8)}`
  const args = ['compose', '-p', project, '--profile', profile]
  const env = {
    ...process.env,
    AUTH_API_PORT: '127.0.0.1:',
    MAILDEV_PORT: '127.0.0.1:',
    COMPOSE_PROFILES: profile,
    // No image has this tag, as on a clean clone.
    LATCHKEY_VERSION: project,
  }
  const compose = (...words: string[]) =>
    run('docker', [...args, ...words], { cwd: ROOT, env, maxBuffer: 64 * 1024 ** 2 })

  let container = ''
  /** Runs it in a container of the service that stays: compose takes longer to create one than all else here. */
  const scriptify = (words: string[], input = ''): Promise<Ended> =>
    endedOf('docker', ['exec', '--interactive', container, 'scriptify', ...words], input)

  afterAll(async () => {
    if (container) await docker('rm', '--force', container)
    await compose('--profile', 'tools', 'down', '--volumes', '--timeout', '5')
    await docker('rmi', `latchkey/auth-api:${project}`, `latchkey/scriptify:${project}`)
  })

  it('builds and brings up what it needs, with secrets and tables', { timeout: 300_000 }, async () => {
    const { stdout } = await compose('run', '--rm', '-T', 'scriptify', 'run', 'Users::list')
    expect(stdout).toMatch(/^No user was found\.\n$/m)
  })

  it('is not started with the rest', async () => {
    await compose('up', '--wait', 'auth-api')
    const { stdout } = await compose('ps', '--all', '--services')
    expect(stdout.split('\n')).toContain('auth-api')
    expect(stdout.split('\n')).not.toContain('scriptify')
    const stay = ['--detach', '--no-deps', '--entrypoint', 'sleep', 'scriptify', 'infinity']
    container = (await compose('run', '--rm', ...stay)).stdout.trim()
  })

  itOnce('logs in over HTTP and shows the profile', async () => {
    const login = await scriptify(['endpoint', 'POST', 'http://auth-api:8080/login', '--body', CREDENTIALS])
    expect(login).toMatchObject({ code: 0, stderr: '' })
    const { token } = JSON.parse(login.stdout)
    const bearer = ['--header', `Authorization: Bearer ${token}`]
    const mine = await scriptify(['endpoint', 'GET', '/profile', '--base', 'http://auth-api:8080', ...bearer])
    expect(JSON.parse(mine.stdout)).toMatchObject({ email: 'user@example.com', role: 'user' })
    const nobody = await scriptify(['endpoint', 'GET', 'http://auth-api:8080/profile'])
    expect(nobody).toMatchObject({ code: 22, stderr: 'HTTP/1.1 401 Unauthorized\n' })
  })

  it.each([
    {
      runtime: 'php',
      code: "qq('select username from users where email = :email', ['email' => 'user@example.com'])",
    },
    {
      runtime: 'node',
      code: "qq('select username from users where email = :email', { email: 'user@example.com' })",
    },
  ])('queries the database in the terminal, in $runtime', async ({ runtime, code }) => {
    const { code: exit, stdout } = await scriptify(['terminal', '--runtime', runtime, '--execute', code])
    expect(exit).toBe(0)
    expect(stdout).toMatch(/\buser\b/)
  })

  it('creates a user who can log in', async () => {
    const args = (...values: string[]) => values.flatMap((value) => ['--arg', value])
    const call = (method: string, ...values: string[]) => scriptify(['run', method, ...args(...values)])
    const created = await call('Users::create', 'ada', 'ada@example.com', 'Ada Lovelace', 'admin')
    expect(created).toMatchObject({ code: 0, stderr: '' })
    const [, password] = /^Password: (.+)$/m.exec(created.stdout) ?? []
    const body = JSON.stringify({ username: 'ada@example.com', password })
    const login = await scriptify(['endpoint', 'POST', 'http://auth-api:8080/login', '--body', body])
    expect(JSON.parse(login.stdout)).toMatchObject({ data: { name: 'Ada Lovelace', role: 'admin' } })
    expect((await call('Users::list')).stdout).toMatch(/ada +ada@example\.com/)
    const again = await call('Users::create', 'ada', 'ada@example.com')
    expect({ ...again, stderr: again.stderr.split('\n').length }).toEqual({ code: 1, stdout: '', stderr: 2 })
  })

  itOnce('reads a password from standard input', async () => {
    const words = ['run', 'Users::setPassword', '--arg', 'admin@example.com', '--arg', '-']
    expect(await scriptify(words, 'Qx7!mountain-Vr\n')).toMatchObject({ code: 0, stderr: '' })
  })

  it.each(['Migrations::status', 'Users::list'])('runs %s', async (method) => {
    expect(await scriptify(['run', method])).toMatchObject({ code: 0, stderr: '' })
  })

  itOnce('runs Secrets::generate', async () => {
    expect(await scriptify(['run', 'Secrets::generate'])).toMatchObject({ code: 0, stderr: '' })
  })

  itOnce('runs what the CronJob of the cluster runs', async () => {
    const job = parse(await readFile(join(ROOT, 'k8s/base/scriptify/cron-job.yaml'), 'utf8'))
    const [container] = job.spec.jobTemplate.spec.template.spec.containers
    const ended = await scriptify(container.args)
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toContain('waiting')
  })

  itOnce('holds no key that signs tokens', async () => {
    const read =
      '(await import("node:fs")).readFileSync(process.env.CREDENTIALS_FILE, "utf8").match(/^\\w+/gm)'
    const { stdout } = await scriptify(['terminal', '--runtime', 'node', '--no-preload', '--execute', read])
    expect(stdout).toContain('DATABASE_URL')
    expect(stdout).not.toContain('JWT_SECRET')
  })
})
