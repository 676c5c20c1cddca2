import { hash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { createFactorRepository } from '@latchkey/shared/factors/factor-repository.ts'
import { ACCEPTED_BY_DEFAULT } from '@latchkey/shared/passwords/password-scheme.ts'
import { getScheme } from '@latchkey/shared/passwords/schemes.ts'
import { DEMO_PASSWORD } from '@latchkey/shared/users/demo-users.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withAdminContext } from '../../../admin/admin-context.ts'
import { addressOf, type Service, startAuthApiProcess } from '../../test/support/auth-api-process.ts'
import { isPostgres, queueUrl } from '../../test/support/engine.ts'
import { olderSchema } from '../../test/support/older-schemas.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../test/support/test-database.ts'
import { factorSettings } from './support/factors.ts'
import { aUser, PASSWORD, startApp, type TestUser } from './support/start-app.ts'

let database: TestDatabase
let user: TestUser
let queue: string
/** A service that only the last test stops. */
let running: Service
let runningAt: string
beforeAll(async () => {
  database = await createTestDatabase()
  queue = await queueUrl()
  user = await aUser({ users: createUserRepository(database.db) })
  running = startService({ PASSWORD_HASH: 'sha1', RATE_LIMIT_LOGINS: '5' })
  runningAt = await addressOf(running)
})
afterAll(async () => {
  await running[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

/** auth-api on the tests' database, with a single thread to start. */
const startService = (settings: Record<string, string> = {}): Service =>
  startAuthApiProcess({ DATABASE_URL: database.url, QUEUE_URL: queue, HASH_CONCURRENCY: '1', ...settings })

const logInAt = (url: string) =>
  fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: user.email, password: PASSWORD }),
  })

/** Begins a login that is in flight, as its 100 Continue proves; the result sends the body and resolves with the status. */
async function beginLogIn(url: string): Promise<() => Promise<number | undefined>> {
  const body = JSON.stringify({ username: user.email, password: PASSWORD })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    expect: '100-continue',
  }
  const login = request(`${url}/login`, { method: 'POST', headers, agent: false })
  login.flushHeaders()
  await once(login, 'continue')
  return async () => {
    login.end(body)
    const [response] = await once(login, 'response')
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

/** Why auth-api, in this process, would end itself on this database; with none it is ready. */
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

describe.concurrent('settings', () => {
  it('are all checked at once, and end the service with exit code 78 and a message', async ({ expect }) => {
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

  it.for([
    {
      settings: factorSettings({ SECOND_FACTOR_ROLES: 'admn' }),
      faults: ['SECOND_FACTOR_ROLES names admn', 'did you mean admin?'],
    },
    {
      settings: { RATE_LIMIT_LOGINS: '5', HASH_CONCURENCY: '1' },
      faults: ['Did you mean RATE_LIMIT_LOGIN?', 'Did you mean HASH_CONCURRENCY?'],
    },
  ])(
    'are refused by --check-settings, with what is right: $settings',
    async ({ settings, faults }, { expect }) => {
      await using service = startService({
        ...settings,
        ...runFirst('process.argv.push("--check-settings")'),
      })
      expect(await service.exited).toBe(78)
      for (const fault of faults) expect(service.output()).toContain(fault)
    },
  )

  it('are all that --check-settings checks', async ({ expect }) => {
    const unreachable = { DATABASE_URL: 'postgres://latchkey@127.0.0.1:1/latchkey' }
    await using service = startService({
      ...unreachable,
      ...runFirst('process.argv.push("--check-settings")'),
    })
    expect(await service.exited).toBe(0)
    expect(service.output()).toBe('')
  })

  it('with sha1, or with a name that is almost one, are logged as a warning', ({ expect }) => {
    expect(running.output()).toMatch(/"level":"warn".*PASSWORD_HASH=argon2id/)
    expect(running.output()).toMatch(/"level":"warn".*RATE_LIMIT_LOGINS in the environment is not a setting/)
  })
})

/** NODE_OPTIONS that run `script` before the service does. */
const runFirst = (script: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`,
})
const SIGTERM_TO_SELF = 'process.kill(process.pid, "SIGTERM")'

describe('SECOND_FACTOR=off', () => {
  it('over users with a second factor is a warning with their number, and over others none', async ({
    expect,
  }) => {
    await using own = await createTestDatabase()
    const owned = { DATABASE_URL: own.url, SECOND_FACTOR: 'off' }
    const factors = createFactorRepository(own.db)
    const users = createUserRepository(own.db)
    for (const confirmed of [true, true, false]) {
      const { userid } = await aUser({ users })
      const id = crypto.randomUUID()
      await factors.insert({ id, userid, kind: 'totp', name: undefined, data: 'sealed' }, new Date())
      if (confirmed) await factors.confirm(id, 1, new Date())
    }
    await using service = startService(owned)
    await addressOf(service)
    await expect.poll(() => service.output()).toMatch(/"level":"warn".*at least 2 users have/)
    expect(running.output()).not.toContain('SECOND_FACTOR is off')
  })
})

describe.concurrent('the process', () => {
  it.for([
    {
      when: 'its modules are loaded',
      script: `import { registerHooks } from 'node:module'
        registerHooks({ resolve(name, context, next) {
          if (name.endsWith('/app.ts')) ${SIGTERM_TO_SELF}
          return next(name, context)
        } })`,
    },
    {
      when: 'it opens its ports',
      script: `import net from 'node:net'
        const { listen } = net.Server.prototype
        net.Server.prototype.listen = function (...options) {
          process.once('SIGTERM', () => listen.apply(this, options))
          ${SIGTERM_TO_SELF}
          return this
        }`,
    },
  ])('exits with 0 after SIGTERM while $when', async ({ script }, { expect }) => {
    await using service = startService(runFirst(script))
    expect(await service.exited, service.output()).toBe(0)
    expect(service.output()).not.toMatch(/"level":"(error|fatal)"|Error/)
  })

  it('answers requests in flight after SIGTERM, drains for SHUTDOWN_DELAY seconds, and exits with 0', async ({
    expect,
  }) => {
    // Cheap hashes: on a busy machine eight argon2id hashes take longer than the service may take to stop.
    await using service = startService({ PASSWORD_HASH: 'sha1', SHUTDOWN_DELAY: '1' })
    const url = await addressOf(service)
    const pending = await Promise.all(Array.from({ length: 8 }, () => beginLogIn(url)))
    service.process.kill('SIGTERM')
    await expect.poll(() => service.output()).toContain('"msg":"stopping"')
    const statuses = await Promise.all(pending.map((finish) => finish()))
    expect(statuses).toEqual(Array(8).fill(200))
    expect(await service.exited).toBe(0)
  })

  it('says that it is draining and still answers, also after a second SIGTERM', async ({ expect }) => {
    // Longer than the test, on any machine.
    await using service = startService({ SHUTDOWN_DELAY: '300' })
    const url = await addressOf(service)
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
    service.process.kill('SIGTERM')
    await expect.poll(async () => (await fetch(`${url}/health/ready`)).status).toBe(503)
    service.process.kill('SIGTERM')
    const draining = await fetch(`${url}/health/ready`)
    expect(await draining.json()).toMatchObject({ checks: { service: 'draining' } })
    expect((await logInAt(url)).status).toBe(200)
  })

  it.for(['192.0.2.1', 'no-such-host.invalid'])(
    'says that HOST is not of this machine: %s',
    async (HOST, { expect }) => {
      await using service = startService({ HOST })
      expect(await service.exited).toBe(1)
      expect(service.output()).toMatch(
        /Cannot listen on .*: HOST is not an address of this machine\. Set HOST=0\.0\.0\.0/,
      )
    },
  )

  it('says which address is taken', async ({ expect }) => {
    const { port } = new URL(runningAt)
    await using second = startService({ PORT: port })
    expect(await second.exited).toBe(1)
    expect(second.output()).toMatch(new RegExp(`${port}: another process listens there`))
    expect(second.output(), 'the calls that led to it help nobody').not.toContain('listen.ts')
  })

  it('starts unready without its database, logs the host that it waits for, and never the password', async ({
    expect,
  }) => {
    await using service = startService({ DATABASE_URL: 'postgres://latchkey:s3cr3t@127.0.0.1:1/latchkey' })
    await expect
      .poll(() => service.output())
      .toMatch(
        /"waitsFor":\["database at 127.0.0.1:1 \(\w+_URL\): (unreachable [^"]+|no answer)","queue at [\w.:]+ \(QUEUE_URL\): waits for the database \([^"]+\)"\].*not ready, waiting/,
      )
    expect(service.output()).not.toContain('s3cr3t')
  })

  it('starts degraded without its queue: users log in, and no request is logged that cannot be mailed', async ({
    expect,
  }) => {
    await using service = startService({ QUEUE_URL: 'redis://:s3cr3t@127.0.0.1:1' })
    const url = await addressOf(service)
    const ready = await fetch(`${url}/health/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([
      200,
      { status: 'ok', checks: { service: 'degraded', database: 'ok' } },
    ])
    expect((await logInAt(url)).status).toBe(200)
    for (let request = 0; request < 3; request++) {
      const reset = await fetch(`${url}/login/resetrequest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: user.email }),
      })
      expect(reset.status).toBe(200)
    }
    await expect
      .poll(() => service.output())
      .toMatch(
        /"fails":\["queue at 127.0.0.1:1 \(\w+_URL\): (unreachable [^"]+|no answer)"\].*ready, degraded/,
      )
    service.process.kill('SIGTERM')
    await service.exited
    expect(service.output()).not.toContain('s3cr3t')
    expect(service.output()).not.toContain('"stack"')
  })
})

it('the process stops when the one that spawned it has ended', async () => {
  running.process.disconnect()
  expect(await running.exited).toBe(0)
})
