import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addressOf, type Service, startServiceProcess } from '../auth-api/test/support/service-process.ts'
import { aUser, PASSWORD, type TestUser } from '../auth-api/test/support/start-app.ts'
import { hasDocker } from '../mailer-worker/test/support/docker.ts'
import { type Mailbox, openMailbox } from '../mailer-worker/test/support/mailbox.ts'
import { openProducer, type Producer } from '../mailer-worker/test/support/producer.ts'
import { COMBINATIONS, type Servers, startServers } from '../mailer-worker/test/support/servers.ts'
import { waitFor } from '../mailer-worker/test/support/wait-for.ts'
import { startWorkerProcess, type WorkerProcess } from '../mailer-worker/test/support/worker-process.ts'

/** How long a server is away; by hand, 60 seconds at 20 requests a second. */
const OUTAGE_SECONDS = Number(process.env.OUTAGE_SECONDS ?? 6)
/** By default few enough for a machine that has other tests to run: an overloaded service rightly answers 503. */
const REQUESTS_PER_SECOND = Number(process.env.REQUESTS_PER_SECOND ?? 10)
const NEW_PASSWORD = 'Qx7!mountain-Vr'

interface Answer {
  status: number
  body: { token?: string; type?: string }
  headers: Record<string, string>
}

// Both services as processes of their own, over HTTP and SMTP, on real servers.
describe.skipIf(!(await hasDocker())).each(COMBINATIONS)('a forgotten password on %s', (combination) => {
  const hasRedis = combination.endsWith('Redis')
  const mailSecret = randomBytes(32)
  const logs: string[] = []
  /** Whatever must be found nowhere. */
  const secrets: string[] = [PASSWORD, NEW_PASSWORD, mailSecret.toString('base64')]
  let servers: Servers
  let mailbox: Mailbox
  let store: Producer
  let api: Service
  let origin: string
  let worker: WorkerProcess

  beforeAll(async () => {
    servers = await startServers(combination)
    mailbox = await openMailbox()
    store = openProducer(servers, mailSecret)
    api = startServiceProcess({
      DATABASE_URL: servers.databaseUrl,
      QUEUE_URL: servers.queueUrl,
      MAIL_SECRET: mailSecret.toString('base64'),
      LOG_LEVEL: 'debug',
      // As many guesses as the test below has codes.
      RESET_ATTEMPTS: '8',
      // On, and out of the way of a test that is one address.
      RATE_LIMIT_RESET: '100000',
      RATE_LIMIT_LOGIN: '100000',
      RATE_LIMIT_REQUESTS: '1000000',
    })
    origin = await addressOf(api)
    worker = await startWorker()
    await worker.ready()
  })
  afterAll(async () => {
    await worker?.[Symbol.asyncDispose]()
    await api?.[Symbol.asyncDispose]()
    await store?.[Symbol.asyncDispose]()
    await mailbox?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    mailbox.delayMs = 0
  })

  async function startWorker(): Promise<WorkerProcess> {
    const started = await startWorkerProcess({
      DATABASE_URL: servers.databaseUrl,
      QUEUE_URL: servers.queueUrl,
      MAIL_URL: mailbox.url,
      MAIL_SECRET: mailSecret.toString('base64'),
      OUTBOX_SWEEP: '1',
      LOG_LEVEL: 'debug',
    })
    started.process.once('exit', () => logs.push(started.log()))
    return started
  }

  async function post(path: string, body: object): Promise<Answer> {
    const response = await fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = (await response.json()) as Answer['body']
    if (answer.token) secrets.push(answer.token)
    return { status: response.status, body: answer, headers: Object.fromEntries(response.headers) }
  }
  const request = (email: string) => post('/login/resetrequest', { email })
  const logIn = async (user: TestUser, password: string) =>
    (await post('/login', { username: user.email, password })).status
  const newUser = () => aUser({ users: createUserRepository(store.db) })
  /** One after the other: the wait for one of the store's few connections would end after 3 s. */
  async function newUsers(count: number): Promise<TestUser[]> {
    const users: TestUser[] = []
    for (let user = 0; user < count; user++) users.push(await newUser())
    return users
  }
  const mailsTo = (user: TestUser) => mailbox.to(user.email)

  async function codeFor(user: TestUser): Promise<string> {
    await waitFor(() => mailsTo(user).length > 0)
    return codeIn(mailsTo(user).at(-1)?.text)
  }

  function codeIn(text: string | undefined): string {
    const [, first, second] = /\b(\d{3}) (\d{3})\b/.exec(text ?? '') ?? []
    if (!first || !second) throw new Error(`No code in: ${text}`)
    secrets.push(first + second)
    return first + second
  }

  /** Asks for a reset for each user, evenly spread over `seconds`; returns the statuses. */
  async function requestSteadily(users: readonly TestUser[], seconds: number): Promise<number[]> {
    const answers = users.map(async (user, index) => {
      await wait((index * seconds * 1_000) / users.length)
      return (await request(user.email)).status
    })
    return Promise.all(answers)
  }

  const mailsArrived = (users: readonly TestUser[]) => users.map((user) => mailsTo(user).length)
  const once = (users: readonly TestUser[]) => users.map(() => 1)
  const outage = () => newUsers(OUTAGE_SECONDS * REQUESTS_PER_SECOND)

  it('ends with a new password, and only that one logs in', async () => {
    const user = await newUser()
    const { status, body } = await request(user.email)
    expect(status).toBe(200)
    const code = await codeFor(user)
    const confirmed = await post('/login/confirmcode', { email: user.email, code, token: body.token })
    expect(confirmed).toMatchObject({ status: 200, body: { token: body.token } })
    const change = { email: user.email, token: body.token, password: NEW_PASSWORD }
    expect((await post('/login/resetpassword', change)).status).toBe(200)
    expect(await logIn(user, NEW_PASSWORD)).toBe(200)
    expect(await logIn(user, PASSWORD)).toBe(401)
    expect((await post('/login/resetpassword', change)).status, 'a second time').toBe(422)
  })

  it('answers an unknown e-mail like a known one, with the mail server up, slow and down', async () => {
    for (const state of ['up', 'slow', 'down']) {
      if (state === 'slow') mailbox.delayMs = 2_000
      if (state === 'down') await mailbox.goDown()
      const known = await request((await newUser()).email)
      const unknown = await request(`${randomBytes(6).toString('hex')}@example.com`)
      const shape = ({
        status,
        body,
        headers: { 'x-request-id': _id, date: _date, ...headers },
      }: Answer) => ({
        status,
        headers,
        body: Object.entries(body).map(([name, value]) => [name, typeof value, value?.length]),
      })
      expect(shape(unknown), state).toEqual(shape(known))
      expect(known.status).toBe(200)
    }
    await mailbox.comeUp()
  })

  it('takes forty wrong codes at once as the end of a reset', async () => {
    const user = await newUser()
    const { body } = await request(user.email)
    const code = await codeFor(user)
    const wrong = Array.from({ length: 40 }, (_, index) =>
      String((Number(code) + 1 + index) % 1_000_000).padStart(6, '0'),
    )
    const confirm = (guess: string) =>
      post('/login/confirmcode', { email: user.email, code: guess, token: body.token })
    const statuses = await Promise.all(wrong.map(confirm))
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([422]))
    expect((await confirm(code)).status).toBe(422)
  })

  it('has one winner among eight that confirm, and among eight that set a password', async () => {
    const user = await newUser()
    const { body } = await request(user.email)
    const code = await codeFor(user)
    const eight = (path: string, payload: object) =>
      Promise.all(Array.from({ length: 8 }, () => post(path, { email: user.email, ...payload })))
    const winners = (answers: Answer[]) => answers.filter(({ status }) => status === 200).length
    expect(winners(await eight('/login/confirmcode', { code, token: body.token }))).toBe(1)
    expect(winners(await eight('/login/resetpassword', { token: body.token, password: NEW_PASSWORD }))).toBe(
      1,
    )
    expect(await logIn(user, NEW_PASSWORD)).toBe(200)
  })

  it('answers eight requests for one e-mail at once, of which the newest counts', async () => {
    for (const user of await newUsers(5)) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => request(user.email)))
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
      await waitFor(() => mailsTo(user).length === 8)
      const statuses: number[] = []
      for (const { text } of mailsTo(user)) {
        const code = codeIn(text)
        statuses.push((await post('/login/confirmcode', { email: user.email, code })).status)
      }
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    }
  })

  it(`answers 200 and sends each mail once when the mail server is away for ${OUTAGE_SECONDS} s under load`, async () => {
    const users = await outage()
    await mailbox.goDown()
    const statuses = await requestSteadily(users, OUTAGE_SECONDS)
    await mailbox.comeUp()
    expect(new Set(statuses)).toEqual(new Set([200]))
    await waitFor(() => !mailsArrived(users).includes(0), 120_000)
    await wait(2_000)
    expect(mailsArrived(users)).toEqual(once(users))
  })

  it.skipIf(!hasRedis)(
    `answers 200 and sends each mail once when Redis is away for ${OUTAGE_SECONDS} s under load`,
    async () => {
      const users = await outage()
      let statuses: number[] = []
      await servers.withoutQueue(async () => {
        statuses = await requestSteadily(users, OUTAGE_SECONDS)
      })
      expect(new Set(statuses)).toEqual(new Set([200]))
      await waitFor(() => !mailsArrived(users).includes(0), 120_000)
      await wait(2_000)
      expect(mailsArrived(users)).toEqual(once(users))
    },
  )

  it('stops in order while the mail server hangs; the next worker sends what it had in hand', async () => {
    await worker.kill('SIGTERM')
    mailbox.hangs = true
    const hanging = await startWorker()
    await hanging.ready()
    const user = await newUser()
    await request(user.email)
    await waitFor(() => mailbox.hanging > 0)
    expect(await hanging.kill('SIGTERM')).toBe(0)
    mailbox.hangs = false
    worker = await startWorker()
    await waitFor(() => mailsTo(user).length > 0)
    expect(mailsTo(user)).toHaveLength(1)
  })

  it('leaves no code, token or password in the database, in Redis or in a log', async () => {
    const user = await newUser()
    await request(user.email)
    await codeFor(user)
    const everything = [await servers.dump(), api.output(), worker.log(), ...logs].join('\n')
    expect(everything).toContain(user.email)
    expect(api.output()).toContain('/login/resetrequest')
    // A code is six digits: part of a longer number or of a hash it is none.
    const found = secrets.filter((secret) =>
      /^\d{6}$/.test(secret)
        ? new RegExp(`(?<![0-9a-f.])${secret}(?![0-9a-f])`).test(everything)
        : everything.includes(secret),
    )
    expect(found).toEqual([])
  })
})
