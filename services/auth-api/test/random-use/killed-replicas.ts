import { hash, randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '@latchkey/shared/app-error.ts'
import type { Statement } from '@latchkey/shared/database/database.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { MailJob } from '@latchkey/shared/mail-queue/mail-job.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { decodeJwt } from 'jose'
import { waitFor } from '../../../mailer-worker/test/support/wait-for.ts'
import { sharedServer } from '../../../test/servers/shared-server.ts'
import type { EmailChange, Request } from '../model/replicas.ts'
import { type Engine, isPostgres } from '../support/engine.ts'
import { addressOf, type Service, startServiceProcess } from '../support/service-process.ts'
import { createTestDatabase } from '../support/test-database.ts'

/** The settings that the histories depend on: short, so that tokens and sessions end within a run. */
export const SETTINGS = {
  TOKEN_LIFETIME: 30,
  REFRESH_WINDOW: 25,
  SESSION_LIFETIME: 60,
  REVOCATION_CACHE: 2,
  RESET_TTL: 600,
  RESET_ATTEMPTS: 5,
} as const

/** What came of a request between two moments of the wall clock, in milliseconds. */
export interface Exchange {
  /** Undefined where the connection broke, or the status was 503: the request may have had its effect, or none. */
  answer: { status: number; body: Record<string, unknown> } | undefined
  sentAt: number
  receivedAt: number
}

export interface Mail {
  template: string
  code: string | undefined
  expiresAt: number
}

export type KilledReplicas = Awaited<ReturnType<typeof startKilledReplicas>>

export type Victim = 'first' | 'second' | 'both'

/** The routes that change an account in more than one statement. */
const CHANGES = new Set([
  '/profile',
  '/profile/password',
  '/profile/confirmemail',
  '/login/resetpassword',
  '/logout',
  '/signup',
  '/signup/confirm',
])
/** A request that takes longer is one that hangs. */
const HANGS_AFTER_MS = 120_000

/** Two processes of auth-api on one database. They are killed and started again; requests go to one that runs. */
export async function startKilledReplicas(engine: Engine, emailChange: EmailChange) {
  await using cleanup = new AsyncDisposableStack()
  const database = cleanup.use(await createTestDatabase(engine))
  const queueUrl = isPostgres(engine) ? database.url : `${await sharedServer('redis')}/5`
  await prepareQueue(queueUrl)
  const settings = {
    ...Object.fromEntries(Object.entries(SETTINGS).map(([name, value]) => [name, String(value)])),
    DATABASE_URL: database.url,
    QUEUE_URL: queueUrl,
    EMAIL_CHANGE: emailChange,
    SIGN_UP: 'on',
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    // Cheap: the hashes are not the subject.
    PASSWORD_HASH: 'sha1',
    HASH_CONCURRENCY: '1',
    // The users come from one address.
    RATE_LIMIT_LOGIN: '0',
    RATE_LIMIT_RESET: '0',
    RATE_LIMIT_REQUESTS: '0',
    LOG_LEVEL: 'error',
  }
  const replicas = [createReplica(settings), createReplica(settings)] as const
  for (const replica of replicas) cleanup.use(replica)
  await Promise.all(replicas.map((replica) => replica.start()))
  const takeMails = createMailReader(database, settings.MAIL_SECRET)
  const statuses = new Map<string, number>()
  const disposable = cleanup.move()

  async function findServing(choice: number): Promise<Replica> {
    const inOrder = choice % 2 ? replicas : replicas.toReversed()
    const serving = () => inOrder.find((replica) => replica.origin() !== undefined)
    await waitFor(() => serving() !== undefined)
    return serving() ?? findServing(choice)
  }

  return {
    emailChange,
    users: createUserRepository(database.db),
    db: database.db,
    takeMails,

    async send(choice: number, { method = 'POST', url, payload, token }: Request): Promise<Exchange> {
      const replica = await findServing(choice)
      const sentAt = Date.now()
      const answered = exchange(`${replica.origin()}${url}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
        signal: AbortSignal.timeout(HANGS_AFTER_MS),
      })
      if (CHANGES.has(url) && method !== 'GET') replica.changes.emit('sent')
      const answer = await answered
      const receivedAt = Date.now()
      const route = `${method} ${url} ${answer?.status ?? 'broken'}`
      statuses.set(route, (statuses.get(route) ?? 0) + 1)
      return { answer, sentAt, receivedAt }
    },

    async hasSessionEnded(jwt: string): Promise<boolean> {
      const id = hash('sha256', `session ${decodeJwt(jwt).sid}`)
      return (await patiently(() => database.db.query(FIND_REVOCATION, [id]))).length > 0
    },

    /**
     * Kills a replica, or both, `delayMs` after a request that changes an account has been sent to the first of them; waits
     * until they serve again.
     */
    async kill(which: Victim, delayMs: number, signal: AbortSignal): Promise<void> {
      const victims = { first: [replicas[0]], second: [replicas[1]], both: replicas }[which]
      await once(victims[0].changes, 'sent', { signal })
      await pause(delayMs)
      await Promise.all(
        victims.map(async (victim) => {
          await victim.kill()
          await victim.start()
        }),
      )
    },

    /** How often each route was answered with each status, or the connection broke. */
    statuses: statuses as ReadonlyMap<string, number>,

    /** What the replicas have logged as errors. */
    logged: () => replicas.map((replica) => replica.logged()).join(''),

    [Symbol.asyncDispose]: () => disposable.disposeAsync(),
  }
}

type Replica = ReturnType<typeof createReplica>

function createReplica(settings: Record<string, string>) {
  let service: Service | undefined
  let origin: string | undefined
  let earlier = ''
  return {
    changes: new EventEmitter(),
    /** Undefined while it does not serve. */
    origin: () => origin,
    logged: () => earlier + (service?.output() ?? ''),
    async start(): Promise<void> {
      service = startServiceProcess(settings)
      origin = await addressOf(service)
    },
    async kill(): Promise<void> {
      origin = undefined
      service?.process.kill('SIGKILL')
      await service?.exited
      earlier += service?.output() ?? ''
      service = undefined
    },
    [Symbol.asyncDispose]: async () => service?.[Symbol.asyncDispose](),
  }
}

/** Repeats what a busy machine keeps from its database. */
export async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  const end = Date.now() + HANGS_AFTER_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unavailable' || Date.now() > end) throw error
    }
  }
}

async function exchange(url: string, init: RequestInit): Promise<Exchange['answer']> {
  try {
    const response = await fetch(url, init)
    const text = await response.text()
    // Unavailable: it may have had its effect too.
    if (response.status === 503) return undefined
    const isJson = response.headers.get('content-type')?.includes('json')
    return { status: response.status, body: isJson ? JSON.parse(text) : {} }
  } catch (error) {
    if (init.signal?.aborted)
      throw new Error(`No response within ${HANGS_AFTER_MS} ms: ${url}`, { cause: error })
    return undefined
  }
}

const FIND_REVOCATION: Statement = {
  name: 'use-revocation',
  text: 'select id from token_revocation where id = $1',
}
const FIND_MAILS: Statement = { name: 'use-mails', text: 'select id, payload from mail_outbox' }
const DELETE_MAILS: Statement = {
  name: 'use-mails-sent',
  text: 'delete from mail_outbox where created_at < $1',
}
/** Longer than a request takes. */
const MAIL_KEPT_MS = 2 * HANGS_AFTER_MS

/** Reads the outbox, and empties it as a worker does that sends the mails. */
function createMailReader({ db }: { db: KilledReplicas['db'] }, secret: string) {
  const sealer = createSealer(Buffer.from(secret, 'base64'))
  const mailboxes = new Map<string, Mail[]>()
  const known = new Set<string>()
  let keptSince = Date.now()
  let reading = Promise.resolve()

  async function read(): Promise<void> {
    const rows = await db.query<{ id: unknown; payload: string }>(FIND_MAILS)
    for (const { id, payload } of rows) {
      const uuid = db.fromUuidValue(id)
      if (known.has(uuid)) continue
      known.add(uuid)
      const { to, template, variables, expiresAt }: MailJob = JSON.parse(payload)
      if (to.endsWith('.invalid')) continue
      const { code } = await sealer.open(variables)
      const mail = {
        template,
        code: code === undefined ? undefined : String(code),
        expiresAt: Date.parse(expiresAt),
      }
      mailboxes.set(to, [...(mailboxes.get(to) ?? []), mail])
    }
    if (Date.now() - keptSince < MAIL_KEPT_MS) return
    await db.execute(DELETE_MAILS, [new Date(keptSince - MAIL_KEPT_MS)])
    keptSince = Date.now()
  }

  /** The mails to an address since the last call for it. */
  return async (to: string): Promise<Mail[]> => {
    reading = reading.then(() => patiently(read))
    await reading
    const mails = mailboxes.get(to) ?? []
    mailboxes.delete(to)
    return mails
  }
}
