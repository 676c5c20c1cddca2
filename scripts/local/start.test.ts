import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { DEMO_PASSWORD } from '@latchkey/shared/users/demo-users.ts'
import {
  adminFileOf,
  answers,
  apiOf,
  asAdmin,
  inboxOf,
  logIn,
  npmStart,
  ownSettings,
  ROOT,
  type Start,
  signalGroup,
  WITHOUT_INBOX,
} from '@latchkey/test-support/npm-start.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchHere } from './launch-here.ts'

const NEW_PASSWORD = 'N3w-p4ssw0rd!'

interface Profile {
  data: { name: string }
}

/** The environment, a line each, of the process below `ancestor` that runs `file`. */
function readEnvironment(ancestor: number, file: string): string {
  const read = (pid: number, name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', '\n')
    } catch {
      return ''
    }
  }
  const isBelow = (pid: number): boolean => {
    const parent = Number(/\) \S (\d+) /.exec(read(pid, 'stat'))?.[1] ?? 0)
    return parent === ancestor || (parent > 1 && isBelow(parent))
  }
  const pid = readdirSync('/proc')
    .map(Number)
    .find((each) => each > 0 && read(each, 'cmdline').split('\n').includes(file) && isBelow(each))
  return read(pid ?? 0, 'environ')
}

/** Expects the secrets that sign tokens in the environment of auth-api, and of no other part. */
function expectSecretsOfAuthApiAlone(start: Start): void {
  const environmentOf = (file: string) => readEnvironment(start.process.pid ?? 0, join(ROOT, file))
  expect(environmentOf('services/auth-api/src/main.ts')).toMatch(/^JWT_SECRET=/m)
  const worker = environmentOf('services/mailer-worker/src/main.ts')
  expect(worker).toMatch(/^MAIL_SECRET=/m)
  expect(worker).not.toContain('JWT_SECRET')
  const inbox = environmentOf('scripts/local/inbox.ts')
  expect(inbox).toMatch(/^PATH=/m)
  expect(inbox).not.toMatch(/SECRET|DATABASE_URL|QUEUE_URL/)
}

/** Changes the name of the demo user. */
async function changeName(api: string, name: string): Promise<void> {
  const { token } = (await (await logIn(api)).json()) as { token: string }
  const { status } = await fetch(`${api}/profile`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ name }),
  })
  expect(status).toBe(200)
}

/** The folders of inboxes in the data folder of dev, each with the mails of one start. */
const inboxFolders = (dataDir: string): string[] =>
  readdirSync(join(dataDir, 'dev')).filter((name) => name.startsWith('inbox-'))

/** Asks the inbox as pages of other origins and host names do, over HTTP and by a WebSocket, which receives every mail. */
async function askInboxAsOthers(start: Start): Promise<string[]> {
  const { hostname, port } = new URL(inboxOf(start))
  const upgrade = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  const paths = [
    { path: '/email', headers: {} },
    { path: '/socket.io/?EIO=4&transport=websocket', headers: upgrade },
  ]
  const others = [{ origin: 'https://evil.example' }, { host: 'evil.example' }]
  const asked = others.flatMap((other) =>
    paths.map(async ({ path, headers }) => {
      const sent = request({ hostname, port, path, headers: { ...headers, ...other } }).end()
      const answered = once(sent, 'response').then(([{ statusCode }]) => String(statusCode))
      const upgraded = once(sent, 'upgrade').then(([, socket]) => socket.destroy() && 'upgraded')
      return Promise.race([answered, upgraded]).catch(() => 'closed')
    }),
  )
  return Promise.all(asked)
}

/** Gives the demo user NEW_PASSWORD, with the code of the mail in the inbox. */
async function expectResetByMail(start: Start, api: string): Promise<void> {
  const post = async (path: string, body: object) =>
    fetch(`${api}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const email = 'user@example.com'
  const { token } = (await (await post('/login/resetrequest', { email })).json()) as { token: string }
  const readMails = async () =>
    (await (await fetch(`${inboxOf(start)}/email`)).json()) as { id: string; subject: string; text: string }[]
  await expect.poll(readMails).toHaveLength(1)
  const [mail] = await readMails()
  expect(mail?.subject).toMatch(/^\[dev\] /)
  const code =
    /\b(\d{3}) ?(\d{3})\b/
      .exec(mail?.text ?? '')
      ?.slice(1, 3)
      .join('') ?? ''
  const opened = (await (await fetch(`${inboxOf(start)}/email/${mail?.id}`)).json()) as { html: string }
  expect(opened.html, 'as the page shows it').toContain('<body')
  expect((await post('/login/confirmcode', { email, code, token })).status).toBe(200)
  expect((await post('/login/resetpassword', { email, token, password: NEW_PASSWORD })).status).toBe(200)
  expect((await logIn(api)).status).toBe(401)
  expect((await logIn(api, { password: NEW_PASSWORD })).status).toBe(200)
  expect((await post('/login/resetrequest', { email })).status).toBe(200)
}

// Each test goes on where the one before it has ended.
describe('npm start', { shuffle: false }, () => {
  let own: Awaited<ReturnType<typeof ownSettings>>
  let other: Awaited<ReturnType<typeof ownSettings>>
  let api: string
  beforeAll(async () => {
    own = await ownSettings()
    other = await ownSettings()
    api = `http://127.0.0.1:${own.settings.PORT}`
  })
  afterAll(async () => {
    await own?.[Symbol.asyncDispose]()
    await other?.[Symbol.asyncDispose]()
  })

  describe('twice at once, for the first time', () => {
    let start: Start
    let second: Start
    beforeAll(async () => {
      start = npmStart({ ...own.settings, JWT_SECRET_PREVIOUS: randomBytes(64).toString('base64') })
      second = npmStart({ ...other.settings, PORT: '0' })
      await start.untilReady()
      await second.untilReady()
    })
    afterAll(async () => {
      await start?.[Symbol.asyncDispose]()
      await second?.[Symbol.asyncDispose]()
    })

    it('serves the demo users from nothing, each its own', async () => {
      for (const address of [api, apiOf(second)]) {
        expect((await logIn(address)).status).toBe(200)
        expect((await fetch(`${address}/health/ready`)).status).toBe(200)
      }
      expect(start.output()).not.toMatch(/secret=|:[^@\s]{16,}@/i)
      expect(await (await fetch(`${api}/`)).text()).toContain(inboxOf(start))
      expect(inboxOf(second)).not.toBe(inboxOf(start))
      if (process.platform === 'linux') expectSecretsOfAuthApiAlone(start)
    })

    it('gives admins what they need in a file, and keeps the mails in a folder, of this user alone', async () => {
      const file = adminFileOf(start)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(await asAdmin(`. '${file}' && npx scriptify run Users::list`)).toContain('admin@example.com')
      const [folder = ''] = inboxFolders(own.settings.DATA_DIR)
      expect(statSync(join(own.settings.DATA_DIR, 'dev', folder)).mode & 0o777).toBe(0o700)
    })

    it('names the issuer by the port that it chooses, and gives admins the address of the API', async () => {
      const issuer = `http://localhost:${new URL(apiOf(second)).port}`
      const inEnvironment = `. '${adminFileOf(second)}'`
      expect(await asAdmin(`${inEnvironment} && echo "$API_SERVER"`)).toBe(`${issuer}\n`)
      const body = JSON.stringify({ username: 'admin@example.com', password: DEMO_PASSWORD })
      const answer = await asAdmin(
        `${inEnvironment} && node_modules/.bin/scriptify endpoint POST /login --header 'Content-Type: application/json' --body '${body}'`,
      )
      const { token } = JSON.parse(answer) as { token: string }
      const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
      expect(claims).toMatchObject({ iss: issuer })
    })

    it('exits with 0 after SIGTERM, and leaves nothing but its database', async () => {
      second.process.kill('SIGTERM')
      expect(await second.exited).toBe(0)
      expect(readdirSync(join(other.settings.DATA_DIR, 'dev'))).toEqual(['postgres'])
    })

    it('leaves nothing running after kill -9', async () => {
      await changeName(api, 'Changed')
      signalGroup(start.process, 'SIGKILL')
      await start.exited
      await expect.poll(() => answers(api)).toBe(false)
    })
  })

  it('keeps what was changed before a kill -9, shows the mail of a reset, and stops every part at Ctrl-C', async () => {
    const left = inboxFolders(own.settings.DATA_DIR)
    expect(left).toHaveLength(1)
    await using start = npmStart(own.settings)
    await start.untilReady()
    const now = inboxFolders(own.settings.DATA_DIR)
    expect(now, 'the mails of the killed start are removed').toHaveLength(1)
    expect(now).not.toEqual(left)
    expect(((await (await logIn(api)).json()) as Profile).data.name).toBe('Changed')
    await expectResetByMail(start, api)
    expect(await askInboxAsOthers(start)).toEqual(['403', 'closed', '403', 'closed'])
    signalGroup(start.process, 'SIGINT')
    await start.exited // npm itself ends by the signal; its output closes when the last process is gone.
    expect(start.output()).toContain('Stopped.')
    expect(await answers(api)).toBe(false)
    expect(existsSync(adminFileOf(start))).toBe(false)
    expect(inboxFolders(own.settings.DATA_DIR)).toEqual([])
    await expect(fetch(inboxOf(start)), 'the inbox ends with the rest').rejects.toThrow()
  })

  it('exits with 78 where settings cannot be used', async () => {
    await using start = npmStart({ ...own.settings, TOKEN_LIFETIME: '0' })
    expect(await start.exited).toBe(78)
    expect(start.output()).toMatch(/The settings cannot be used:\n.*TOKEN_LIFETIME/)
  })

  it('has no demo users in prod, whatever dev has in the same DATA_DIR, and says what production lacks', async () => {
    const prod = {
      ...own.settings,
      ...WITHOUT_INBOX,
      APP_ENV: 'prod',
      API_SERVER: 'http://localhost',
      MAIL_FROM: 'no-reply@localhost',
      // No load balancer sends requests.
      SHUTDOWN_DELAY: '0',
    }
    await using start = npmStart(prod)
    await start.untilReady()
    expect(start.output()).not.toContain('example.com')
    expect(start.output()).toContain(`API           http://localhost:${prod.PORT}\n`)
    const missing = [...start.output().matchAll(/^ {2}([A-Z_]{4,}) /gm)].map(([, name]) => name)
    expect(missing).toEqual(['DATABASE_URL', 'HOST', 'API_SERVER'])
    const logIns = ['user@example.com', 'admin@example.com'].map((username) => logIn(api, { username }))
    expect((await Promise.all(logIns)).map(({ status }) => status)).toEqual([401, 401])

    // An administrator who gives an account the published password is told at the next start.
    const asAdminOf = (line: string) =>
      asAdmin(`. '${join(prod.DATA_DIR, 'prod', 'environment')}' && node_modules/.bin/scriptify run ${line}`)
    await asAdminOf(
      `Users::create --arg admin --arg boss@localhost --arg '' --arg admin --arg '${DEMO_PASSWORD}'`,
    )
    start.process.kill('SIGTERM')
    await start.exited
    await using refused = launchHere(prod)
    await refused.launched
    expect(refused.output()).toContain(
      'published password of the demo users, and admin has it. Set another one: npx scriptify run Users::setPassword --arg admin',
    )
    expect(refused.output()).toContain('Its database runs until Ctrl-C')
    expect(refused.exitCode(), 'of a start that is refused').toBe(1)
    expect(await answers(api)).toBe(false)
    await asAdminOf('Users::setPassword --arg admin')
  })
})
