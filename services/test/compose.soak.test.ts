import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEPLOY, docker, ROOT, run } from '@latchkey/test-support/images.ts'
import { type Ended, endedOf } from '@latchkey/test-support/scriptify-image.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const PASSWORD = '!P4ssw0rdstr!'
const NEW_PASSWORD = 'Qx7!mountain-Vr'
const EMAIL = 'user@example.com'
const CREDENTIALS = JSON.stringify({ username: EMAIL, password: PASSWORD })

interface Mail {
  text: string
  to: { address: string }[]
}

describe.each(['postgres', 'mysql'])('docker compose on %s', (profile) => {
  /** A test that does not depend on the kind of database. */
  const itOnce = it.runIf(profile === 'postgres')
  const project = `latchkey-test-${randomUUID().slice(0, 8)}`
  const compose = (...args: string[]) =>
    run('docker', ['compose', '-p', project, '--profile', profile, ...args], {
      cwd: DEPLOY,
      maxBuffer: 64 * 1024 ** 2,
      // Below the hook's own limit, so that the containers are still removed.
      timeout: 280_000,
      env: {
        ...process.env,
        AUTH_API_PORT: '127.0.0.1:',
        MAILDEV_PORT: '127.0.0.1:',
        COMPOSE_PROFILES: '',
        // No image has this tag, as on a clean clone.
        LATCHKEY_VERSION: project,
      },
    })
  const addressOf = async (service: string, port: number) =>
    `http://${(await compose('port', service, String(port))).stdout.trim()}`

  let api: string
  let inbox: string
  const findAddresses = async () => {
    api = await addressOf('auth-api', 8080)
    inbox = await addressOf('maildev', 1080)
  }

  let admin = ''
  /** In a container of the service scriptify that stays: compose takes longer to create one than all else here. */
  const scriptify = (words: string[], input = ''): Promise<Ended> =>
    endedOf('docker', ['exec', '--interactive', admin, 'scriptify', ...words], input)

  // Each is a user's first command on one of the databases: it must need no step before it.
  const starts: Record<string, () => Promise<void>> = {
    async postgres() {
      const { stdout } = await compose('run', '--rm', '-T', 'scriptify', 'run', 'Users::list')
      expect(stdout).toMatch(/^No user was found\.\n$/m)
      await compose('up', '--build', '--wait', '--scale', 'mailer-worker=3')
    },
    async mysql() {
      await compose('up', '--build', '--wait')
    },
  }
  beforeAll(async () => {
    await starts[profile]?.()
    await findAddresses()
  }, 300_000)
  afterAll(async () => {
    if (admin) await docker('rm', '--force', admin)
    await compose('--profile', 'tools', 'down', '--volumes', '--timeout', '5')
    const images = ['auth-api', 'mailer-worker', 'scriptify'].map((name) => `latchkey/${name}:${project}`)
    await docker('rmi', ...images)
  })

  it('does not start scriptify with the rest', async () => {
    const { stdout } = await compose('ps', '--all', '--services')
    expect(stdout.split('\n')).toContain('auth-api')
    expect(stdout.split('\n')).not.toContain('scriptify')
    const stay = ['--detach', '--no-deps', '--entrypoint', 'sleep', 'scriptify', 'infinity']
    // Below what the build of its image prints.
    admin = (await compose('run', '--rm', ...stay)).stdout.trim().split('\n').at(-1) ?? ''
  })

  itOnce('calls the API by scriptify', async () => {
    const login = await scriptify(['endpoint', 'POST', 'http://auth-api:8080/login', '--body', CREDENTIALS])
    expect(login).toMatchObject({ code: 0, stderr: '' })
    const { token } = JSON.parse(login.stdout)
    const bearer = ['--header', `Authorization: Bearer ${token}`]
    const mine = await scriptify(['endpoint', 'GET', '/profile', '--base', 'http://auth-api:8080', ...bearer])
    expect(JSON.parse(mine.stdout)).toMatchObject({ email: EMAIL, role: 'user' })
    const nobody = await scriptify(['endpoint', 'GET', 'http://auth-api:8080/profile'])
    expect(nobody).toMatchObject({ code: 22, stderr: 'HTTP 401 Unauthorized\n' })
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

  it('runs Migrations::status', async () => {
    expect(await scriptify(['run', 'Migrations::status'])).toMatchObject({ code: 0, stderr: '' })
  })

  itOnce('runs Secrets::generate', async () => {
    expect(await scriptify(['run', 'Secrets::generate'])).toMatchObject({ code: 0, stderr: '' })
  })

  itOnce('runs what the CronJob of the cluster runs', async () => {
    const job = parse(await readFile(join(ROOT, 'deploy/k8s/base/scriptify/cron-job.yaml'), 'utf8'))
    const [container] = job.spec.jobTemplate.spec.template.spec.containers
    const ended = await scriptify(container.args)
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toContain('waiting')
  })

  itOnce('gives scriptify no key that signs tokens', async () => {
    const read =
      '(await import("node:fs")).readFileSync(process.env.CREDENTIALS_FILE, "utf8").match(/^\\w+/gm)'
    const { stdout } = await scriptify(['terminal', '--runtime', 'node', '--no-preload', '--execute', read])
    expect(stdout).toContain('DATABASE_URL')
    expect(stdout).not.toContain('JWT_SECRET')
  })

  const post = async (path: string, body: object) => {
    const response = await fetch(`${api}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = (await response.json()) as { token?: string }
    return { status: response.status, token: answer.token }
  }
  const logIn = async (password: string) => (await post('/login', { username: EMAIL, password })).status
  /** The codes that reached the user's inbox. Notices of a new password, to this user and to others, come at any time. */
  const codes = async () => {
    const mails = (await (await fetch(`${inbox}/email`)).json()) as Mail[]
    const ofUser = mails.filter(({ to }) => to[0]?.address === EMAIL)
    return ofUser.flatMap(({ text }) => /\b\d{6}\b/.exec(text) ?? [])
  }

  it('logs a demo user in, and resets the password with the code from the inbox', async () => {
    expect(await logIn(PASSWORD)).toBe(200)
    const request = await post('/login/resetrequest', { email: EMAIL })
    expect(request.status).toBe(200)
    await expect.poll(codes).toHaveLength(1)
    const ofOtherOrigin = await fetch(`${inbox}/email`, { headers: { origin: 'https://evil.example' } })
    expect(ofOtherOrigin.status).toBe(403)
    const [code] = await codes()
    const confirm = { email: EMAIL, code, token: request.token }
    const confirmed = await post('/login/confirmcode', confirm)
    expect(confirmed.status).toBe(200)
    const reset = { email: EMAIL, token: confirmed.token, password: NEW_PASSWORD }
    expect((await post('/login/resetpassword', reset)).status).toBe(200)
    expect([await logIn(PASSWORD), await logIn(NEW_PASSWORD)]).toEqual([401, 200])
  })

  it('gives each service only its own secrets, in files, and runs it as a user without write access', async () => {
    const inside = async (service: string, script: string) =>
      (await compose('exec', '-T', service, 'sh', '-c', script)).stdout.trim()
    const names = "sed 's/=.*//' /run/secrets/credentials.env | sort | paste -sd,"
    expect(await inside('mailer-worker', names)).toBe('APP_ENV,DATABASE_URL,MAIL_SECRET,MAIL_URL,QUEUE_URL')
    const [ofApi, secret = '', ...account] = (
      await inside(
        'auth-api',
        `${names}; sed -n 's/^MAIL_SECRET=//p' /run/secrets/credentials.env; touch /app/x 2>/dev/null; echo $?; id -un`,
      )
    ).split('\n')
    expect(ofApi).toBe('APP_ENV,DATABASE_URL,FACTOR_SECRET,JWT_SECRET,MAIL_SECRET,QUEUE_URL')
    expect(account).toEqual(['1', 'node'])
    // `docker inspect` shows no secret.
    const ids = (await compose('ps', '--all', '--quiet')).stdout.trim().split('\n')
    expect(secret.length).toBeGreaterThan(40)
    expect((await run('docker', ['inspect', ...ids])).stdout).not.toContain(secret)
  })

  it('lets nobody who has taken over a worker read a hash, set a role, start a program or reach auth-api', async () => {
    const attack = `
      import { readFileSync } from 'node:fs'
      import { parseEnv } from 'node:util'
      import { openDatabase } from '/app/shared/database/dialects.ts'
      const { DATABASE_URL } = parseEnv(readFileSync('/run/secrets/credentials.env', 'utf8'))
      const db = await openDatabase(DATABASE_URL)
      const statements = ['select password from users', "update users set role = 'admin'", "copy mail_outbox from program 'id'"]
      for (const text of statements)
        await db.query({ name: text, text }).then(() => console.log('ran', text), () => undefined)
      await fetch('http://auth-api:8080/health/live').then(() => console.log('reached auth-api'), () => undefined)
      await db.query({ name: 'own', text: 'select count(*) from mail_outbox' })
      console.log('read its own table')
      process.exit()`
    const inside = ['exec', '-T', 'mailer-worker', 'node', '--input-type=module', '--eval', attack]
    expect((await compose(...inside)).stdout).toBe('read its own table\n')
  })

  itOnce(
    'sends a mail that was accepted while Redis was down, and keeps the secrets after a second up',
    async () => {
      const before = (await codes()).length
      await compose('kill', 'redis')
      expect((await post('/login/resetrequest', { email: EMAIL })).status).toBe(200)
      await compose('up', '--wait', '--scale', 'mailer-worker=3')
      await findAddresses()
      await expect.poll(codes, { timeout: 60_000 }).toHaveLength(before + 1)
      expect(await logIn(NEW_PASSWORD)).toBe(200)
    },
  )
})
