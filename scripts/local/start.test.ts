import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { DEMO_PASSWORD } from '@latchkey/shared/users/demo-users.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { VOLATILE_FOLDER } from '../../services/test/servers/volatile-folder.ts'
import { findFreePort } from '../../services/test/support/free-port.ts'
import {
  countRows,
  createEmptyDatabase,
  createTestDatabase,
} from '../../services/test/support/test-database.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const NEW_PASSWORD = 'N3w-p4ssw0rd!'
/** Settings of a start without a mail inbox. */
const WITHOUT_INBOX = { MAIL_URL: 'null:' }

let dataDir: string
let settings: Record<string, string>
beforeAll(async () => {
  dataDir = await mkdtemp(join(VOLATILE_FOLDER, 'latchkey-start-'))
  const port = async () => String(await findFreePort())
  settings = {
    DATA_DIR: dataDir,
    PORT: await port(),
    METRICS_PORT: await port(),
    DATABASE_URL: '',
    QUEUE_URL: '',
    MAIL_URL: '',
  }
})
afterAll(() => rm(dataDir, { recursive: true, force: true }))

interface Start extends AsyncDisposable {
  process: ChildProcess
  output: () => string
  exited: Promise<number | null>
  untilReady(): Promise<void>
}

/** `npm start` as a user runs it, in its own process group as a terminal gives it. */
function npmStart(given: Record<string, string> = {}): Start {
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, APP_ENV: 'dev', ...settings, ...given },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const hasExited = () => child.exitCode !== null || child.signalCode !== null
  return {
    process: child,
    output: () => output,
    exited,
    async untilReady() {
      const isReady = () => output.includes('Latchkey is ready')
      await vi.waitUntil(() => isReady() || hasExited(), { timeout: 240_000 })
      expect(output).toContain('Latchkey is ready')
    },
    async [Symbol.asyncDispose]() {
      signalGroup(child, 'SIGTERM')
      await exited
    },
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid ?? 0), signal)
  } catch {
    // The group is gone, as it should be.
  }
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

/** What signs tokens is in the environment of auth-api, and of no other part. */
function expectSecretsOfAuthApiAlone(start: Start): void {
  const environmentOf = (file: string) => readEnvironment(start.process.pid ?? 0, join(ROOT, file))
  expect(environmentOf('services/auth-api/src/main.ts')).toMatch(/^JWT_SECRET=/m)
  const worker = environmentOf('services/mailer-worker/src/main.ts')
  expect(worker).toMatch(/^MAIL_SECRET=/m)
  expect(worker).not.toContain('JWT_SECRET')
  const inbox = environmentOf('node_modules/maildev/bin/maildev')
  expect(inbox).toMatch(/^MAILDEV_SMTP_PORT=/m)
  expect(inbox).not.toMatch(/SECRET|DATABASE_URL|QUEUE_URL/)
}

/** Runs a line in a shell that knows of nothing yet. */
async function asAdmin(line: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', line], {
    cwd: ROOT,
    env: { PATH: process.env.PATH },
  })
  return stdout
}

interface Profile {
  data: { name: string }
}

const logIn = ({
  password = DEMO_PASSWORD,
  username = 'user@example.com',
  api = `http://127.0.0.1:${settings.PORT}`,
} = {}) =>
  fetch(`${api}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })

const answers = () =>
  fetch(`http://127.0.0.1:${settings.PORT}/health/live`).then(
    () => true,
    () => false,
  )

/** Changes the name of the demo user. */
async function changeName(name: string): Promise<void> {
  const { token } = (await (await logIn()).json()) as { token: string }
  const { status } = await fetch(`http://127.0.0.1:${settings.PORT}/profile`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ name }),
  })
  expect(status).toBe(200)
}

/** The file that `npm start` names for admins. */
function adminFileOf(start: Start): string {
  const [, file = ''] = /^ {2}admin +\. (\S+) && npx scriptify run Queue::status$/m.exec(start.output()) ?? []
  return resolve(ROOT, file)
}

const apiOf = (start: Start): string => /API +(\S+)$/m.exec(start.output())?.[1] ?? 'no API'

const inboxOf = (start: Start): string => /mail +(http:\S+)/.exec(start.output())?.[1] ?? 'no inbox'

/** What pages of other origins and host names get of the inbox, over HTTP and as a WebSocket, which receives every mail. */
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
async function expectResetByMail(start: Start): Promise<void> {
  const api = `http://127.0.0.1:${settings.PORT}`
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
  expect((await logIn()).status).toBe(401)
  expect((await logIn({ password: NEW_PASSWORD })).status).toBe(200)
  expect((await post('/login/resetrequest', { email })).status).toBe(200)
}

describe('npm start', () => {
  describe('for the first time', () => {
    let start: Start
    beforeAll(async () => {
      start = npmStart({ JWT_SECRET_PREVIOUS: randomBytes(64).toString('base64') })
      await start.untilReady()
    })
    afterAll(() => start?.[Symbol.asyncDispose]())

    it('serves the demo users from nothing', async () => {
      expect((await logIn()).status).toBe(200)
      expect((await fetch(`http://127.0.0.1:${settings.PORT}/health/ready`)).status).toBe(200)
      expect(start.output()).not.toMatch(/secret=|:[^@\s]{16,}@/i)
      expect(await (await fetch(`http://127.0.0.1:${settings.PORT}/`)).text()).toContain(inboxOf(start))
      const file = adminFileOf(start)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(await asAdmin(`. '${file}' && npx scriptify run Users::list`)).toContain('admin@example.com')
      if (process.platform === 'linux') expectSecretsOfAuthApiAlone(start)
    })

    it('refuses a second start on the same data or port', async () => {
      await using samePort = npmStart({ DATA_DIR: join(dataDir, 'other') })
      expect(await samePort.exited).toBe(1)
      expect(samePort.output()).toMatch(
        new RegExp(`127\\.0\\.0\\.1:${settings.PORT} cannot be used: .* already listens there`),
      )
      const otherPorts = { PORT: '0', METRICS_PORT: '0' }
      await using sameData = npmStart(otherPorts)
      expect(await sameData.exited).toBe(1)
      expect(sameData.output()).toContain(`already running on the data folder ${dataDir}/dev`)
      expect((await logIn()).status, 'the first keeps running').toBe(200)
    })

    it('leaves nothing running after kill -9', async () => {
      await changeName('Changed')
      signalGroup(start.process, 'SIGKILL')
      await start.exited
      await expect.poll(answers).toBe(false)
    })
  })

  it('keeps what was changed before a kill -9, shows the mail of a reset, and stops every part at Ctrl-C', async () => {
    await using start = npmStart()
    await start.untilReady()
    expect(((await (await logIn()).json()) as Profile).data.name).toBe('Changed')
    await expectResetByMail(start)
    expect(await askInboxAsOthers(start)).toEqual(['403', 'closed', '403', 'closed'])
    signalGroup(start.process, 'SIGINT')
    await start.exited // npm itself ends by the signal; its output closes when the last process is gone.
    expect(start.output()).toContain('Stopped.')
    expect(await answers()).toBe(false)
    expect(existsSync(adminFileOf(start))).toBe(false)
    await expect(fetch(inboxOf(start)), 'the inbox ends with the rest').rejects.toThrow()
  })

  it.each([
    { setting: 'DATABASE_URL', what: 'The database' },
    { setting: 'QUEUE_URL', what: 'The queue' },
  ])('names an unreachable server of $setting, and how to get an embedded one', async ({ setting, what }) => {
    const settings = { [setting]: 'postgres://latchkey:hidden@127.0.0.1:1/latchkey', ...WITHOUT_INBOX }
    await using start = npmStart(settings)
    expect(await start.exited).toBe(1)
    expect(start.output()).toContain(
      `${what} at 127.0.0.1:1 (${setting}) cannot be reached: connect ECONNREFUSED`,
    )
    expect(start.output()).toContain('Without DATABASE_URL')
    expect(start.output()).not.toContain('hidden')
  })

  it('says which servers of a setting are unreachable, and ends at Ctrl-C', async () => {
    await using start = npmStart({ QUEUE_URL: 'redis://127.0.0.1:1', MAIL_URL: 'smtp://127.0.0.1:1' })
    for (const reason of ['queue at 127.0.0.1:1 (QUEUE_URL)', 'mail at 127.0.0.1:1 (MAIL_URL)'])
      await vi.waitUntil(() => start.output().includes(`${reason}: unreachable`), { timeout: 30_000 })
    await expect.poll(answers, { timeout: 15_000 }).toBe(true)
    signalGroup(start.process, 'SIGINT')
    await start.exited
    expect(start.output()).toMatch(/^Stopped\.$/m)
    expect(await answers()).toBe(false)
  })

  it('refuses a DATA_DIR that cannot be created', async () => {
    await using start = npmStart({ DATA_DIR: '/proc/latchkey' })
    expect(await start.exited).toBe(1)
    expect(start.output()).toMatch(
      /The data folder \/proc\/latchkey\/dev \(DATA_DIR\) cannot be used: .*mkdir/s,
    )
  })

  it('starts no service before the database is prepared, and ends at Ctrl-C while it waits for a lock', async () => {
    await using own = await createEmptyDatabase('embedded')
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const isHeld = Promise.withResolvers<void>()
    const held = own.db.withLock('latchkey_migrations', () => {
      isHeld.resolve()
      return released
    })
    await isHeld.promise
    await using start = npmStart({ DATABASE_URL: own.url, ...WITHOUT_INBOX })
    await expect.poll(start.output, { timeout: 15_000 }).toContain('npm start waits for the database')
    expect(await answers()).toBe(false)
    signalGroup(start.process, 'SIGINT')
    await start.exited
    release()
    await held
  })

  it('starts nothing on accounts that it refuses', async () => {
    await using own = await createEmptyDatabase('embedded')
    await own.db.runScript(
      'create table users (userid int primary key, username varchar(20), password varchar(99));',
    )
    await using start = npmStart({ DATABASE_URL: own.url })
    expect(await start.exited).toBe(1)
    expect(start.output()).not.toMatch(/auth-api|mailer-worker/)
  })

  it('adds no demo users to a database that has users, and gives admins its addresses', async () => {
    await using own = await createTestDatabase('embedded')
    await createUserRepository(own.db).insert({
      username: 'real',
      email: 'real@shop.example',
      passwordHash: '',
    })
    await using start = npmStart({ DATABASE_URL: own.url, ...WITHOUT_INBOX })
    await start.untilReady()
    expect(await countRows(own.db, 'users')).toBe(1)
    expect(start.output()).not.toContain(DEMO_PASSWORD)
    expect(await asAdmin(`. '${adminFileOf(start)}' && npx scriptify run Queue::status`)).toContain('waiting')
  })

  it('says what is wrong with the settings of every part in one list, before it starts any', async () => {
    await using start = npmStart({
      PORT: 'x',
      DATABASE_URL: 'oracle://db/x',
      TOKEN_LIFETIME: '0',
      MAIL_RATE: '0',
      DKIM_DOMAIN: 'example.com',
      HASH_QUEUE: '-1',
    })
    expect(await start.exited).toBe(78)
    const lines = start.output().split('\n')
    const first = lines.indexOf('The settings cannot be used:')
    const names = lines.slice(first + 1).map((line) => line.trim().split(' ', 1)[0])
    expect(names.filter(Boolean).sort()).toEqual([
      'DATABASE_URL',
      'DKIM_KEY',
      'DKIM_SELECTOR',
      'HASH_QUEUE',
      'MAIL_RATE',
      'PORT',
      'TOKEN_LIFETIME',
    ])
  })

  it('has no demo users in prod, whatever dev has in the same DATA_DIR, and says what production lacks', async () => {
    await using withoutMail = npmStart({ APP_ENV: 'prod' })
    expect(await withoutMail.exited).toBe(78)
    expect(withoutMail.output(), 'there is no inbox').toContain('MAIL_URL is missing')
    const prod = {
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
    expect(start.output()).toContain(`API           http://localhost:${settings.PORT}\n`)
    const missing = [...start.output().matchAll(/^ {2}([A-Z_]{4,}) /gm)].map(([, name]) => name)
    expect(missing).toEqual(['DATABASE_URL', 'HOST', 'API_SERVER'])
    const logIns = ['user@example.com', 'admin@example.com'].map((email) => logIn({ username: email }))
    expect((await Promise.all(logIns)).map(({ status }) => status)).toEqual([401, 401])

    // An administrator who gives an account the published password is told at the next start.
    const asAdminOf = (line: string) => asAdmin(`. '${join(dataDir, 'prod', 'environment')}' && ${line}`)
    await asAdminOf(
      `node_modules/.bin/scriptify run Users::create --arg admin --arg boss@localhost --arg '' --arg admin --arg '${DEMO_PASSWORD}'`,
    )
    start.process.kill('SIGTERM')
    await start.exited
    await using refused = npmStart(prod)
    await expect.poll(refused.output).toContain('Its database runs until Ctrl-C')
    expect(refused.output()).toContain(
      'published password of the demo users, and admin has it. Set another one: npx scriptify run Users::setPassword --arg admin',
    )
    await expect.poll(answers).toBe(false)
    await asAdminOf('node_modules/.bin/scriptify run Users::setPassword --arg admin')
    refused.process.kill('SIGTERM')
    expect(await refused.exited).toBe(1)
  })

  describe('on a port that it chooses', () => {
    let start: Start
    beforeAll(async () => {
      start = npmStart({ PORT: '0', ...WITHOUT_INBOX })
      await start.untilReady()
    })
    afterAll(() => start?.[Symbol.asyncDispose]())

    it('names the issuer by PORT, and gives admins the address of the API', async () => {
      const issuer = `http://localhost:${new URL(apiOf(start)).port}`
      const inEnvironment = `. '${adminFileOf(start)}'`
      expect(await asAdmin(`${inEnvironment} && echo "$API_SERVER"`)).toBe(`${issuer}\n`)
      const body = JSON.stringify({ username: 'admin@example.com', password: DEMO_PASSWORD })
      const answer = await asAdmin(
        `${inEnvironment} && node_modules/.bin/scriptify endpoint POST /login --header 'Content-Type: application/json' --body '${body}'`,
      )
      const { token } = JSON.parse(answer) as { token: string }
      const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
      expect(claims).toMatchObject({ iss: issuer })
    })

    it('exits with 0 after SIGTERM', async () => {
      start.process.kill('SIGTERM')
      expect(await start.exited).toBe(0)
    })
  })
})
