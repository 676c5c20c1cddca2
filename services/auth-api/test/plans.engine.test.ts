import { randomUUID } from 'node:crypto'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import type { Statement } from '@latchkey/shared/database/database.ts'
import { insertRows } from '@latchkey/shared/database/insert-rows.ts'
import {
  createOutboxRepository,
  type OutboxRepository,
} from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { createPurge } from '@latchkey/shared/maintenance/purge-expired.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answer, challengeOf, enrolUser, factorSettings } from './support/factors.ts'
import { aFakeProvider } from './support/fake-provider.ts'
import { APP_PAGE } from './support/provider-browser.ts'
import { type RecordingDatabase, recording } from './support/recording-database.ts'
import { aToken, bearer, codeTo, startApp, type TestApp } from './support/start-app.ts'

const USERS = 2_048
const MAILS = 2_048
const NEW_PASSWORD = 'An0ther-Horse!'

type Sent = RecordingDatabase['sent'][number]

let database: RecordingDatabase
let app: TestApp
let user: TestUser
beforeAll(async () => {
  database = recording(await createTestDatabase())
  const { db } = database
  await insertRows(
    db,
    'users',
    ['userid', 'name', 'email', 'username', 'password', 'role'],
    Array.from({ length: USERS }, (_, index) => [
      db.toUuidValue(randomUUID()),
      'Ada',
      `many${index}@example.com`,
      `many${index}`,
      'x',
      'user',
    ]),
  )
  await analyze('users')
  const settings = factorSettings({
    EMAIL_CHANGE: 'confirmed',
    SIGN_UP: 'on',
    LOGIN_BY_MAIL: 'on',
    NOTICE_NEW_CLIENT: 'on',
    REFRESH_WINDOW: '3599',
    CORS_ORIGINS: new URL(APP_PAGE).origin,
  })
  app = await startApp({ database, settings, providers: new Map([['fake', fake.provider]]) })
  user = await aUser(app)
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

it('reads no table as a whole for a request', async () => {
  await useEverything()
  await deleteExpired()
  const last = new Map(database.sent.map((each) => [each.statement.name, each]))
  const plans = [...last.values()].filter(({ statement }) => isOfRequest(textOf(statement)))
  expect(plans.length, 'statements that were sent').toBeGreaterThan(25)
  const scans: string[] = []
  for (const each of plans) if (await readsAll(each)) scans.push(textOf(each.statement))
  expect(scans).toEqual([])
})

describe('of the mail in the outbox', () => {
  const now = Date.now()
  beforeAll(async () => {
    const { db } = database
    const mails = Array.from({ length: MAILS }, (_, index) => {
      const isLeftBehind = index >= MAILS - 3
      return [
        db.toUuidValue(randomUUID()),
        '{}',
        new Date(now - 60_000 + index),
        new Date(now + 600_000),
        isLeftBehind ? null : new Date(now - 10_000 + index),
      ]
    })
    await insertRows(db, 'mail_outbox', ['id', 'payload', 'created_at', 'expires_at', 'dispatched_at'], mails)
    await analyze('mail_outbox')
  })

  const before = new Date(now - 9_995)
  it.each<[string, (outbox: OutboxRepository) => Promise<unknown>]>([
    ['what was left behind', (outbox) => outbox.findLeftBehind({ before, limit: 100, offset: 0 })],
    ['what is to be checked', (outbox) => outbox.findToRecheck({ before, limit: 100, offset: 0 })],
    ['the oldest one that was left behind', (outbox) => outbox.findOldestUndispatched()],
  ])('reads only %s', async (_, find) => {
    await find(createOutboxRepository(database.db))
    const last = database.sent.at(-1)
    if (!last) throw new Error('Nothing was sent')
    // MySQL estimates the three that are due and the mails of the requests above, and not the 2,048.
    expect(await rowsRead(last)).toBeLessThan(50)
  })
})

const analyze = (table: string): Promise<void> =>
  database.db.runScript(
    database.db.dialect.name === 'postgres' ? `vacuum analyze ${table}` : `analyze table ${table}`,
  )

const TABLES =
  /\b(?:expired_)?(users|users_property|password_reset|email_change|token_revocation|sign_up|audit_event|user_session|user_factor|user_identity|identity_login|recovery_code)\b/
const isOfRequest = (text: string): boolean => TABLES.test(text) && !text.startsWith('insert into users ')
const textOf = ({ text }: Statement): string =>
  typeof text === 'string' ? text : text[database.db.dialect.name]

/** Every kind of request, each once. */
async function useEverything(): Promise<void> {
  const token = await aToken(app, user)
  await request('POST', '/login', { username: user.email, password: 'wrong' }, undefined, 401)
  const others = await Promise.all([1, 2, 3].map(() => aToken(app, user)))
  await Promise.all(others.map((other) => request('GET', '/sampleprotected/ping', undefined, other)))
  await request('GET', '/profile', undefined, token)
  const { sessions } = await request('GET', '/sessions', undefined, token)
  await request('DELETE', `/sessions/${sessions.at(-1).id}`, undefined, token, 204)
  await request('PUT', '/profile', { name: 'Grace' }, token)
  await request('PUT', '/profile', { email: 'new@example.com', current_password: PASSWORD }, token)
  await request('POST', '/profile/confirmemail', { code: await codeTo(app, 'new@example.com') }, token)
  await resetPassword('new@example.com')
  const fresh = await tokenBy('new@example.com', NEW_PASSWORD)
  await request('PUT', '/profile/password', { current_password: NEW_PASSWORD, password: PASSWORD }, fresh)
  const last = await tokenBy('new@example.com', PASSWORD)
  app.setClock(Date.now() + 2_000)
  const { token: refreshed } = await request('POST', '/refreshtoken', undefined, last)
  app.setClock(undefined)
  await request('POST', '/logout', { everywhere: true }, refreshed, 204)
  await signUp('fresh@example.com')
  await useSecondFactor()
  await useProvider()
  await request('GET', '/health/ready')
}

/** Runs the statements that mailer-worker runs every ten minutes, and those of its metrics. */
async function deleteExpired(): Promise<void> {
  const registry = new Registry()
  const purge = createPurge({ db: database.db, registry, auditDays: 90, localNow: Date.now })
  const event = { name: 'login.refused', at: new Date(Date.now() - 91 * 86_400_000) } as const
  await createAuditRepository(database.db).insert([event])
  expect(await registry.metrics()).toMatch(/overdue_seconds{table="audit_event"} 86/)
  await purge(new AbortController().signal)
  expect(database.names()).toContain('audit_event-purge')
}

const fake = aFakeProvider()

async function useProvider(): Promise<void> {
  const { subject, ...first } = await fake.comeBack(app, { email: 'provider@example.com' })
  const { token } = await request('POST', '/login/exchange', first)
  const { subject: _, ...again } = await fake.comeBack(app, { subject })
  await request('POST', '/login/exchange', again)
  const { subject: __, ...other } = await fake.comeBack(app)
  await request('POST', '/profile/identities', other, token, 204)
  const { identities } = await request('GET', '/profile/identities', undefined, token)
  await request('DELETE', `/profile/identities/${identities[0].id}`, undefined, token, 204)
  const { subject: ___, ...unverified } = await fake.comeBack(app, { email: 'new@example.com' })
  const { ticket } = await request('POST', '/login/exchange', unverified, undefined, 409)
  await request('POST', '/login/exchange/code', { ticket }, undefined, 202)
  const code = await codeTo(app, 'new@example.com', 'identity-code')
  await request('POST', '/login/exchange/complete', { ticket, code })
}

async function useSecondFactor(): Promise<void> {
  const owner = await aUser(app)
  const { token, recoveryCodes } = await enrolUser(app, owner, Date.now())
  const won = await answer(app, await challengeOf(app, owner), recoveryCodes[0] ?? '')
  expect(won.statusCode, won.body).toBe(200)
  await request('POST', '/profile/factors/recoverycodes', undefined, token)
  const { factors } = await request('GET', '/profile/factors', undefined, token)
  await request('DELETE', `/profile/factors/${factors[0].id}`, undefined, token, 204)
}

const tokenBy = async (username: string, password: string): Promise<string> =>
  (await request('POST', '/login', { username, password })).token

async function resetPassword(email: string): Promise<void> {
  const login = await request('POST', '/login/code', { email })
  await request('POST', '/login/code/confirm', {
    email,
    ...login,
    code: await codeTo(app, email, 'login-code'),
  })
  const { token } = await request('POST', '/login/resetrequest', { email })
  const code = await codeTo(app, email, 'password-reset')
  const confirmed = await request('POST', '/login/confirmcode', { email, code, token })
  await request('POST', '/login/resetpassword', { email, token: confirmed.token, password: NEW_PASSWORD })
}

async function signUp(email: string): Promise<void> {
  const wanted = { email, username: 'fresh', password: NEW_PASSWORD }
  const { token } = await request('POST', '/signup', wanted, undefined, 202)
  await request('POST', '/signup/confirm', { email, token, code: await codeTo(app, email) })
}

async function request(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  payload?: object,
  token?: string,
  status = 200,
) {
  const headers = token === undefined ? {} : bearer(token)
  const response = await app.server.inject({ method, url, headers, ...(payload && { payload }) })
  expect(response.statusCode, `${url} ${response.body}`).toBe(status)
  return response.body ? response.json() : {}
}

const readsAll = (sent: Sent): Promise<boolean> =>
  database.db.dialect.name === 'postgres' ? scansInPostgres(sent) : scansInMysql(sent)

/** The rows that a statement reads; in MySQL those that it is expected to read. */
async function rowsRead(sent: Sent): Promise<number> {
  if (database.db.dialect.name === 'postgres')
    return (await explain(sent, { options: 'analyze, ' })).reduce((sum, node) => sum + countRows(node), 0)
  return (await explainInMysql(sent)).reduce((sum, { rows }) => sum + Number(rows), 0)
}

function countRows({ Plans = [], ...node }: PostgresNode): number {
  if (Plans.length > 0) return Plans.reduce((sum, each) => sum + countRows(each), 0)
  return (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)
}

interface PostgresNode {
  'Node Type': string
  'Index Cond'?: string
  'Actual Rows'?: number
  'Rows Removed by Filter'?: number
  Plans?: PostgresNode[]
}

/** True where a statement reads a whole table: with `enable_seqscan` off only where no index fits, however small it is. */
const scansInPostgres = async (sent: Sent): Promise<boolean> => (await explain(sent)).some(hasScan)

const explain = ({ statement, values }: Sent, { options = '' } = {}): Promise<PostgresNode[]> =>
  database.db.transaction(async (transaction) => {
    await transaction.execute({ name: 'test-no-scan', text: 'set local enable_seqscan = off' })
    const [row] = await transaction.query<{ 'QUERY PLAN': { Plan: PostgresNode }[] }>(
      { name: `explain-${statement.name}`, text: `explain (${options}format json) ${textOf(statement)}` },
      values,
    )
    return (row?.['QUERY PLAN'] ?? []).map(({ Plan }) => Plan)
  })

function hasScan({ 'Node Type': type, Plans = [], ...node }: PostgresNode): boolean {
  const isWhole = type === 'Seq Scan' || (/^(Bitmap )?Index/.test(type) && node['Index Cond'] === undefined)
  return isWhole || Plans.some(hasScan)
}

interface MysqlRow {
  select_type: string
  type: string | null
  possible_keys: string | null
  rows: number | string | null
}

/** A small table may be read as a whole though an index fits; that of the users is not small. */
async function scansInMysql(sent: Sent): Promise<boolean> {
  return (await explainInMysql(sent)).some(
    ({ select_type, type, possible_keys, rows: count }) =>
      select_type !== 'INSERT' &&
      ['ALL', 'index'].includes(type ?? '') &&
      (possible_keys === null || Number(count) > 100),
  )
}

const explainInMysql = ({ statement, values }: Sent): Promise<MysqlRow[]> =>
  database.db.query<MysqlRow>(
    { name: `explain-${statement.name}`, text: `explain format=traditional ${textOf(statement)}` },
    values,
  )
