import { randomBytes } from 'node:crypto'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { expect } from 'vitest'
import { aUser, PASSWORD, type TestUser } from './a-user.ts'
import { addressOf, type Service, startAuthApiProcess } from './auth-api-process.ts'
import { type Combination, type Servers, startServers } from './mail-servers.ts'
import { type Mailbox, openMailbox } from './mailbox.ts'
import { openProducer, type Producer } from './producer.ts'
import { serviceUrl } from './test-database.ts'
import { waitFor } from './wait-for.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'

export const NEW_PASSWORD = 'Qx7!mountain-Vr'

export interface Answer {
  status: number
  body: { token?: string; type?: string }
  headers: Record<string, string>
}

export interface RunningServices extends AsyncDisposable {
  servers: Servers
  mailbox: Mailbox
  store: Producer
  api: Service
  /** The address of auth-api. */
  origin: string
  /** The worker of now; a test that ends it starts the next one. */
  worker: WorkerProcess
  /** The log of earlier workers. */
  logs: string[]
  /** Every code, token and password so far: none may be found anywhere. */
  secrets: string[]
  startWorker(settings?: Record<string, string>): Promise<WorkerProcess>
  post(path: string, body: object, headers?: Record<string, string>): Promise<Answer>
  request(email: string): Promise<Answer>
  logIn(user: TestUser, password: string): Promise<number>
  newUser(): Promise<TestUser>
  newUsers(count: number): Promise<TestUser[]>
  /** The code in the newest mail for the user, once there is one. */
  codeFor(user: TestUser): Promise<string>
  codeIn(text: string | undefined): string
}

/** The secrets that are in clear in the database, in the queue or in a log; `known` has to be found there. */
export async function findLeaks(flow: RunningServices, known: string): Promise<string[]> {
  const { servers, api, worker, logs, secrets } = flow
  const everything = [await servers.dump(), api.output(), worker.log(), ...logs].join('\n')
  expect(everything).toContain(known)
  expect(api.output()).toContain('/login/resetrequest')
  // A code is six digits; within a longer number or a hash they are not one.
  const isShown = (secret: string) =>
    /^\d{6}$/.test(secret)
      ? new RegExp(`(?<![0-9a-f.])${secret}(?![0-9a-f])`).test(everything)
      : everything.includes(secret)
  return secrets.filter(isShown)
}

/** Both services as separate processes, each with its own rights, over HTTP and SMTP, on real servers. */
export async function startServices(
  combination: Combination,
  given: { both?: Record<string, string>; api?: Record<string, string> } = {},
): Promise<RunningServices> {
  const mailSecret = randomBytes(32)
  const secrets = [PASSWORD, NEW_PASSWORD, mailSecret.toString('base64')]
  const logs: string[] = []
  await using parts = new AsyncDisposableStack()
  const servers = parts.use(await startServers(combination))
  const mailbox = parts.use(await openMailbox())
  const store = parts.use(await openProducer(servers, mailSecret))
  const addresses = (service: 'auth-api' | 'mailer-worker') => {
    const DATABASE_URL = serviceUrl({ url: servers.databaseUrl }, service)
    return {
      DATABASE_URL,
      QUEUE_URL: servers.queueUrl === servers.databaseUrl ? DATABASE_URL : servers.queueUrl,
    }
  }
  const settings = {
    MAIL_SECRET: mailSecret.toString('base64'),
    LOG_LEVEL: 'debug',
    ...given.both,
  }
  const api = parts.use(
    startAuthApiProcess({
      ...addresses('auth-api'),
      ...settings,
      // As many guesses as a test has codes.
      RESET_ATTEMPTS: '8',
      // On, and too high for a test, which is one address.
      RATE_LIMIT_RESET: '100000',
      RATE_LIMIT_LOGIN: '100000',
      RATE_LIMIT_REQUESTS: '1000000',
      ...given.api,
    }),
  )
  const origin = await addressOf(api)

  async function startWorker(more: Record<string, string> = {}): Promise<WorkerProcess> {
    const mail = { MAIL_URL: mailbox.url, OUTBOX_SWEEP: '1' }
    const started = await startWorkerProcess({ ...addresses('mailer-worker'), ...settings, ...mail, ...more })
    started.process.once('exit', () => logs.push(started.log()))
    return started
  }

  async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    const answer = (await response.json()) as Answer['body']
    if (answer.token) secrets.push(answer.token)
    return { status: response.status, body: answer, headers: Object.fromEntries(response.headers) }
  }

  const newUser = () => aUser({ users: createUserRepository(store.db) })

  function codeIn(text: string | undefined): string {
    const [, first, second] = /\b(\d{3}) (\d{3})\b/.exec(text ?? '') ?? []
    if (!first || !second) throw new Error(`No code in: ${text}`)
    secrets.push(first + second)
    return first + second
  }

  const flow: RunningServices = {
    ...{ servers, mailbox, store, api, origin, logs, secrets, startWorker, post, newUser, codeIn },
    worker: await startWorker(),
    request: (email) => post('/login/resetrequest', { email }),
    logIn: async (user, password) => (await post('/login', { username: user.email, password })).status,
    // One after the other: the wait for one of the store's few connections would end after 3 s.
    async newUsers(count) {
      const users: TestUser[] = []
      for (let user = 0; user < count; user++) users.push(await newUser())
      return users
    },
    async codeFor(user) {
      await waitFor(() => mailbox.to(user.email).length > 0)
      return codeIn(mailbox.to(user.email).at(-1)?.text)
    },
    async [Symbol.asyncDispose]() {
      await flow.worker[Symbol.asyncDispose]()
      await started.disposeAsync()
    },
  }
  await flow.worker.ready()
  const started = parts.move()
  return flow
}
