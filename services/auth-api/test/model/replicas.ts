import { randomBytes } from 'node:crypto'
import type { Statement } from '@latchkey/shared/database/database.ts'
import { openSealed } from '@latchkey/shared/mail/outbox/test/open-sealed.ts'
import type { MailJob } from '@latchkey/shared/mail/queue/mail-job.ts'
import type { Engine } from '@latchkey/test-support/engine.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { expect } from 'vitest'
import { openLimitStore } from '../../src/limits/limit-store.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { SETTINGS } from './account-model.ts'
import { LIMITS, type Limits } from './limits-model.ts'

/** True where a new e-mail has to be confirmed. */
export type EmailChange = 'immediate' | 'confirmed'

export interface ReplicasOptions {
  /** The engine; by default that of the project. */
  engine?: Engine
  /** The Redis in which both replicas count limits; each counts in memory without it. */
  redisUrl?: string
  /** Default: `immediate`. */
  emailChange?: EmailChange
  /** Default: low ones. */
  limits?: Limits
  /** Settings over those of the model. */
  settings?: Record<string, string>
}

/** A clock that jumps. */
export interface Time {
  /** Milliseconds since the epoch, as the wall clock shows them. */
  now: number
  /** Milliseconds that never go back. */
  elapsed: number
}

export interface Answer {
  status: number
  body: Record<string, unknown>
}

export interface Request {
  method?: 'GET' | 'POST' | 'PUT'
  url: string
  payload?: object
  token?: string
  /** The address of the client. */
  address?: string
}

export interface Mail {
  id: string
  to: string
  template: string
  code: string
}

export type Replicas = Awaited<ReturnType<typeof startReplicas>>

/** The time that a replica may wait for Redis on a busy machine. */
const PATIENT_MS = 20_000

/** Two replicas of auth-api in this process: one database, one clock, one store of limits. */
export async function startReplicas({
  engine,
  redisUrl,
  emailChange = 'immediate',
  limits = LIMITS.low,
  settings = {},
}: ReplicasOptions = {}) {
  await using cleanup = new AsyncDisposableStack()
  const database = cleanup.use(await createTestDatabase(engine))
  const time: Time = { now: 0, elapsed: 0 }
  const shared = {
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    RATE_LIMIT_REQUESTS: '1000000',
    RATE_LIMIT_LOGIN: String(limits.failures),
    RATE_LIMIT_RESET: String(limits.resets),
    TRUST_PROXY: '127.0.0.1',
    EMAIL_CHANGE: emailChange,
    SIGN_UP: 'on',
    SESSION_LIFETIME: String(SETTINGS.sessionLifetimeMs / 1000),
    ...settings,
  }
  const apps: TestApp[] = []
  for (let replica = 0; replica < 2; replica++) {
    const limitStore = redisUrl
      ? cleanup.adopt(await openRedis(redisUrl), ({ redis }) => redis.disconnect())
      : undefined
    apps.push(cleanup.use(await startApp({ settings: shared, database, limitStore, time })))
  }
  const disposable = cleanup.move()
  const { mail } = appAt(apps, 0).config

  return {
    time,
    emailChange,
    limits,
    sharesLimits: redisUrl !== undefined,
    users: appAt(apps, 0).users,
    database,

    async send(replica: number, { method = 'POST', url, payload, token, address }: Request): Promise<Answer> {
      const headers = {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(address === undefined ? {} : { 'x-forwarded-for': address }),
      }
      const { server, logLines } = appAt(apps, replica)
      const response = await server.inject({ method, url, headers, ...(payload ? { payload } : {}) })
      // It would be the memory that grows.
      logLines.length = 0
      return { status: response.statusCode, body: response.body ? response.json() : {} }
    },

    /** The mails, with their recipients. The outbox has them until a worker has sent them. */
    async readMails(): Promise<Mail[]> {
      const rows = await database.db.query<{ id: unknown; payload: string }>(FIND_MAILS)
      const opened = rows.map(async ({ id, payload }) => {
        const job = JSON.parse(payload) as MailJob
        const { code } = await openSealed(mail.secret, job.variables)
        return { id: database.db.fromUuidValue(id), to: job.to, template: job.template, code: String(code) }
      })
      return (await Promise.all(opened)).filter(({ to }) => !to.endsWith('.invalid'))
    },

    readState: () => readState(database),

    /** Removes every row. */
    async clear(): Promise<void> {
      for (const table of TABLES)
        await database.db.execute({ name: `model-clear-${table}`, text: `delete from ${table}` })
      for (const { queued } of apps) queued.clear()
    },

    [Symbol.asyncDispose]: () => disposable.disposeAsync(),
  }
}

async function openRedis(url: string) {
  const store = openLimitStore(url, async () => 'test', { debug: () => undefined })
  if (!store) throw new Error(`Not the address of a Redis: ${url}`)
  await expect.poll(() => store.redis.status).toBe('ready')
  Object.assign(store.redis.options, { commandTimeout: PATIENT_MS })
  return store
}

function appAt(apps: readonly TestApp[], replica: number): TestApp {
  const app = apps[replica]
  if (!app) throw new Error(`There is no replica ${replica}`)
  return app
}

const TABLES = [
  'users_property',
  'users',
  'password_reset',
  'email_change',
  'mail_outbox',
  'token_revocation',
  'sign_up',
  'audit_event',
  'user_session',
]
const FIND_MAILS: Statement = { name: 'model-mails', text: 'select id, payload from mail_outbox' }

interface UserRow {
  id: unknown
  username: string
  name: string | null
  email: string
  password: string
  role: string | null
  deleted_at: Date | null
}

/** A reset, a change of e-mail or a sign-up. */
interface CodeRow {
  id: unknown
  userid: unknown
  username: string
  email: string
  attempts: number
  expires_at: Date
  confirmed_at: Date | null
  used_at: Date | null
}

/** The rows by their ids, as the model describes them. */
async function readState({ db }: TestDatabase) {
  const read = <Row extends object>(columns: string, table: string) =>
    db.query<Row>({ name: `model-${table}`, text: `select ${columns} from ${table}` })
  const byId = <Row extends { id: unknown }, Shown>(rows: readonly Row[], show: (row: Row) => Shown) =>
    new Map(rows.map((row) => [db.fromUuidValue(row.id), show(row)]))
  const users = await read<UserRow>(
    'userid as id, username, name, email, password, role, deleted_at',
    'users',
  )
  const languages = await read<{ userid: unknown; value: string }>(
    'userid, value',
    "users_property where name = 'language'",
  )
  const code = 'id, email, attempts, expires_at'
  const resets = await read<CodeRow>(`${code}, userid, confirmed_at, used_at`, 'password_reset')
  const changes = await read<CodeRow>(`${code}, userid, used_at`, 'email_change')
  const signUps = await read<CodeRow>(`${code}, username`, 'sign_up')
  const events = await read<{ name: string; userid: unknown }>('name, userid', 'audit_event')
  const mails = (await read<{ payload: string }>('payload', 'mail_outbox')).map(
    ({ payload }) => JSON.parse(payload) as MailJob,
  )
  const codeOf = ({ email, attempts, expires_at }: CodeRow) => ({
    email,
    attempts,
    expiresAt: expires_at.getTime(),
  })
  return {
    users: byId(users, ({ id, username, name, email, password, role, deleted_at }) => ({
      ...{ username, name, email },
      passwordHash: password.trimEnd(),
      role: role ?? 'user',
      isDeleted: deleted_at !== null,
      language: languages
        .filter(({ userid }) => db.fromUuidValue(userid) === db.fromUuidValue(id))
        .map(({ value }) => value),
    })),
    resets: byId(resets, (row) => ({
      ...codeOf(row),
      userid: db.fromUuidValue(row.userid),
      isConfirmed: row.confirmed_at !== null,
      isUsed: row.used_at !== null,
    })),
    changes: byId(changes, (row) => ({
      ...codeOf(row),
      userid: db.fromUuidValue(row.userid),
      isUsed: row.used_at !== null,
    })),
    signUps: byId(signUps, (row) => ({ ...codeOf(row), username: row.username })),
    events: events.map(({ name, userid }) => `${name} ${db.fromUuidValue(userid)}`).toSorted(),
    mails: mails
      .filter(({ to }) => !to.endsWith('.invalid'))
      .map(({ template, to }) => `${template} ${to}`)
      .toSorted(),
  }
}
