import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT, run, VERSION } from './test/support/images.ts'

const PASSWORD = '!P4ssw0rdstr!'
const NEW_PASSWORD = 'Qx7!mountain-Vr'
const EMAIL = 'user@example.com'

interface Mail {
  text: string
  to: { address: string }[]
}

// The README's command; it must need no step before it.
describe.each(['postgres', 'mysql'])('docker compose up --build --wait on %s', (profile) => {
  const project = `latchkey-test-${randomUUID().slice(0, 8)}`
  const compose = (...args: string[]) =>
    run('docker', ['compose', '-p', project, '--profile', profile, ...args], {
      cwd: ROOT,
      // Below the hook's own limit, so that the containers are still removed.
      timeout: 280_000,
      env: {
        ...process.env,
        AUTH_API_PORT: '127.0.0.1:',
        MAILDEV_PORT: '127.0.0.1:',
        COMPOSE_PROFILES: '',
        LATCHKEY_VERSION: VERSION,
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
  beforeAll(async () => {
    await compose('up', '--build', '--wait', '--scale', 'mailer-worker=3')
    await findAddresses()
  }, 300_000)
  afterAll(() => compose('down', '--volumes', '--timeout', '5'))

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
  const mails = async () => (await (await fetch(`${inbox}/email`)).json()) as Mail[]
  const codeIn = (mail: Mail | undefined) => /\b\d{6}\b/.exec(mail?.text ?? '')?.[0]

  it('logs a demo user in, and resets the password with the code from the inbox', async () => {
    expect(await logIn(PASSWORD)).toBe(200)
    const request = await post('/login/resetrequest', { email: EMAIL })
    expect(request.status).toBe(200)
    await expect.poll(mails).toHaveLength(1)
    const [mail] = await mails()
    expect(mail?.to[0]?.address).toBe(EMAIL)
    const confirm = { email: EMAIL, code: codeIn(mail), token: request.token }
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
    expect(await inside('auth-api', names)).toBe('DATABASE_URL,JWT_SECRET,MAIL_SECRET,QUEUE_URL')
    expect(await inside('mailer-worker', names)).toBe('DATABASE_URL,MAIL_SECRET,QUEUE_URL')
    expect(await inside('auth-api', 'touch /app/x 2>/dev/null; echo $?; id -un')).toBe('1\nnode')
    // `docker inspect` shows no secret.
    const ids = (await compose('ps', '--all', '--quiet')).stdout.trim().split('\n')
    const secret = await inside('auth-api', "sed -n 's/^MAIL_SECRET=//p' /run/secrets/credentials.env")
    expect(secret.length).toBeGreaterThan(40)
    expect((await run('docker', ['inspect', ...ids])).stdout).not.toContain(secret)
  })

  it('sends a mail that was accepted while Redis was down, and keeps the secrets after a second up', async () => {
    const before = (await mails()).length
    await compose('kill', 'redis')
    expect((await post('/login/resetrequest', { email: EMAIL })).status).toBe(200)
    await compose('up', '--wait', '--scale', 'mailer-worker=3')
    await findAddresses()
    await expect.poll(async () => (await mails()).length, { timeout: 60_000 }).toBe(before + 1)
    expect(await logIn(NEW_PASSWORD)).toBe(200)
  })
})
