import { hash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { ACCEPTED_BY_DEFAULT } from '@latchkey/shared/passwords/password-scheme.ts'
import { getScheme } from '@latchkey/shared/passwords/schemes.ts'
import { SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { DEMO_PASSWORD } from '@latchkey/shared/users/demo-users.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import {
  addressOf,
  type Service,
  serviceEnvironment,
  startAuthApiProcess,
} from '@latchkey/test-support/auth-api-process.ts'
import { isPostgres, queueUrl } from '@latchkey/test-support/engine.ts'
import { olderSchema } from '@latchkey/test-support/older-schemas.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { withAdminContext } from '../../../admin/admin-context.ts'
import { factorSettings } from './support/factors.ts'
import { startApp } from './support/start-app.ts'

let database: TestDatabase
/** Two of its users have a second factor. */
let guarded: TestDatabase
let user: TestUser
let queue: string
/** A service that only the last test stops. */
let running: Service
beforeAll(async () => {
  database = await createTestDatabase()
  guarded = await createTestDatabase()
  queue = await queueUrl()
  user = await aUser({ users: createUserRepository(database.db) })
  for (const confirmed of [true, true, false]) await addFactor(guarded, confirmed)
  running = startService({ DATABASE_URL: guarded.url, PASSWORD_HASH: 'sha1', RATE_LIMIT_LOGINS: '5' })
  await addressOf(running)
})
afterAll(async () => {
  await running[Symbol.asyncDispose]()
  for (const each of [guarded, database]) await each[Symbol.asyncDispose]()
})

async function addFactor({ db }: TestDatabase, isConfirmed: boolean): Promise<void> {
  const factors = createFactorRepository(db)
  const { userid } = await aUser({ users: createUserRepository(db) })
  const id = crypto.randomUUID()
  await factors.insert({ id, userid, kind: 'totp', name: undefined, data: 'sealed' }, new Date())
  if (isConfirmed) await factors.confirm(id, 1, new Date())
}

/** auth-api on the tests' database, with a single thread to start. */
const startService = (settings: Record<string, string> = {}): Service =>
  startAuthApiProcess({ DATABASE_URL: database.url, QUEUE_URL: queue, HASH_CONCURRENCY: '1', ...settings })

/** Begins a login that is in flight, as its 100 Continue proves; the result sends the body and resolves with the status. */
async function beginLogIn(url: string): Promise<() => Promise<number | undefined>> {
  const body = JSON.stringify({ username: user.email, password: PASSWORD })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    expect: '100-continue',
  }
  const login = request(`${url}/login`, { method: 'POST', headers, agent: false })
  const answered = once(login, 'response')
  // The test awaits it later.
  answered.catch(() => undefined)
  login.flushHeaders()
  await once(login, 'continue')
  return async () => {
    login.end(body)
    const [response] = await answered
    response.resume()
    return response.statusCode
  }
}

describe('the published password of the demo users', () => {
  const REFUSAL = 'Set another one: npx scriptify run Users::setPassword --arg renamed'
  const [schemeOfProcess = '', ...otherSchemes] = ACCEPTED_BY_DEFAULT
  let own: TestDatabase
  let userid: string
  beforeAll(async () => {
    own = await createTestDatabase()
    const admin = { username: 'renamed', email: 'admin@example.com' }
    userid = (await aUser({ users: createUserRepository(own.db) }, admin)).userid
  })
  afterAll(() => own[Symbol.asyncDispose]())

  async function publishAs(scheme: string): Promise<void> {
    const passwordHash = await getScheme(scheme).hash(DEMO_PASSWORD)
    await createUserRepository(own.db).setPassword(userid, passwordHash)
  }

  it(`ends the service where an account has it as ${schemeOfProcess}`, async () => {
    await publishAs(schemeOfProcess)
    await using service = startService({ APP_ENV: 'staging', DATABASE_URL: own.url })
    expect(await service.exited).toBe(1)
    expect(service.output()).toContain(`${REFUSAL}"`)
  })

  it.each(otherSchemes)('ends the service where an account has it as %s', async (scheme) => {
    await publishAs(scheme)
    expect(await refusalsOf(own, { APP_ENV: 'staging' })).toEqual([expect.stringContaining(REFUSAL)])
  })

  it('is what an account of dev is for, and once it is changed the service starts', async () => {
    await publishAs('sha1')
    expect(await refusalsOf(own, { APP_ENV: 'dev' })).toEqual([])
    await createUserRepository(own.db).setPassword(userid, hash('sha1', PASSWORD))
    expect(await refusalsOf(own, { APP_ENV: 'staging' })).toEqual([])
  })
})

/** Returns the reasons for which auth-api, in this process, would end itself on this database; with none it is ready. */
async function refusalsOf(own: TestDatabase, settings: Record<string, string> = {}): Promise<string[]> {
  const refusals: string[] = []
  await using app = await startApp({
    database: own,
    settings: { PASSWORD_HASH_ACCEPTED: ACCEPTED_BY_DEFAULT.join(), ...settings },
    refuse: ({ message }) => refusals.push(message),
  })
  const { statusCode } = await app.server.inject({ url: '/health/ready' })
  expect(statusCode).toBe(refusals.length === 0 ? 200 : 503)
  return refusals
}

describe('a database in which two accounts can share a name', () => {
  it.each([
    { state: 'of another program', isMigrated: false },
    { state: 'that is migrated', isMigrated: true },
  ])('$state ends the service, and admin commands', async ({ isMigrated }) => {
    await using own = await (isMigrated ? createTestDatabase() : createEmptyDatabase())
    await own.db.runScript(isMigrated ? dropUniqueIndexes() : olderSchema('plain indexes'))
    const [refusal] = await refusalsOf(own)
    expect(refusal).toMatch(/users\.email has no unique index[\s\S]*share a name[\s\S]*migrate -- status/)
    await expect(
      withAdminContext(async () => 'ran', { DATABASE_URL: own.url, APP_ENV: 'staging' }),
    ).rejects.toThrow(/users\.username has no unique index/)
  })
})

const dropUniqueIndexes = (): string =>
  isPostgres()
    ? 'drop index ix_email_sigma; drop index ix_username_sigma'
    : 'alter table users drop index ix_email, drop index ix_username'

const EXITED = new Error('the process exits')

/** Starts auth-api with `--check-settings`, in this process. Nothing answers at its database. */
async function checkSettings(settings: Record<string, string>): Promise<void> {
  const { openService } = await import('../src/open-service.ts')
  process.argv.push('--check-settings')
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
    throw EXITED
  })
  const DATABASE_URL = 'postgres://latchkey@127.0.0.1:1/latchkey'
  const lifecycle = { open: async () => expect.unreachable('opened'), configureStop() {}, fail() {} }
  try {
    await openService(lifecycle, { ...serviceEnvironment(), DATABASE_URL, QUEUE_URL: queue, ...settings })
  } finally {
    process.argv.pop()
    exit.mockRestore()
  }
}

describe('settings', () => {
  it('are all checked at once, and end the service with exit code 78 and a message', async () => {
    const settings = {
      JWT_SECRET: 'correct horse battery staple '.repeat(4),
      JWT_PRIVATE_KEY: '-----BEGIN PRIVATE KEY-----\ncorrect horse\n-----END PRIVATE KEY-----',
      DATABASE_URL: 'oracle://scott:tiger@db/x',
      PORT: 'ten',
      LOGIN_FIELD: 'phone',
      PASSWORD_HASH: 'md5',
    }
    await using service = startService(settings)
    expect(await service.exited).toBe(78)
    for (const name of Object.keys(settings)) expect(service.output()).toContain(name)
    expect(service.output()).not.toMatch(/at .*\.ts:\d+|correct horse|tiger/)
  })

  it.each([
    {
      settings: factorSettings({ SECOND_FACTOR_ROLES: 'admn' }),
      faults: ['SECOND_FACTOR_ROLES names admn', 'did you mean admin?'],
    },
    {
      settings: { RATE_LIMIT_LOGINS: '5', HASH_CONCURENCY: '1' },
      faults: ['Did you mean RATE_LIMIT_LOGIN?', 'Did you mean HASH_CONCURRENCY?'],
    },
  ])('are refused by --check-settings, with what is right: $settings', async ({ settings, faults }) => {
    const refusal = await checkSettings(settings).catch((error: Error) => error)
    expect(refusal).toBeInstanceOf(SettingsError)
    for (const fault of faults) expect(String(refusal)).toContain(fault)
  })

  it('are all that --check-settings checks', async () => {
    await expect(checkSettings({})).rejects.toBe(EXITED)
  })

  it('with sha1, with a name that is almost one, or without a factor that users have, are warnings', async () => {
    await expect.poll(running.output).toMatch(/"level":"warn".*at least 2 users have/)
    expect(running.output()).toMatch(/"level":"warn".*PASSWORD_HASH=argon2id/)
    expect(running.output()).toMatch(/"level":"warn".*RATE_LIMIT_LOGINS in the environment is not a setting/)
  })
})

it('the process answers requests in flight after SIGTERM, however late, and exits with 0', async () => {
  // Cheap hashes: on a busy machine eight argon2id hashes take longer than the service may take to stop.
  await using service = startService({ PASSWORD_HASH: 'sha1', SHUTDOWN_DELAY: '0' })
  const url = await addressOf(service)
  const pending = await Promise.all(Array.from({ length: 8 }, () => beginLogIn(url)))
  service.process.kill('SIGTERM')
  await expect.poll(() => service.output()).toContain('"msg":"stopping"')
  // It listens no more: only what is in flight is left.
  await expect
    .poll(() =>
      fetch(url).then(
        () => 'answers',
        () => 'refuses',
      ),
    )
    .toBe('refuses')
  const statuses = await Promise.all(pending.map((finish) => finish()))
  expect(statuses).toEqual(Array(8).fill(200))
  expect(await service.exited).toBe(0)
  expect(service.output(), 'of users without a second factor').not.toContain('SECOND_FACTOR is off')
})

it('the process stops when the one that spawned it has ended', async () => {
  running.process.disconnect()
  expect(await running.exited).toBe(0)
})
