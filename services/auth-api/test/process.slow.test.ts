import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { addressOf, type Service, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import { queueUrl } from '@latchkey/test-support/engine.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, it } from 'vitest'

let database: TestDatabase
let user: TestUser
let queue: string
beforeAll(async () => {
  database = await createTestDatabase()
  queue = await queueUrl()
  user = await aUser({ users: createUserRepository(database.db) })
})
afterAll(() => database[Symbol.asyncDispose]())

/** auth-api on the tests' database, with a single thread to start. */
const startService = (settings: Record<string, string> = {}): Service =>
  startAuthApiProcess({ DATABASE_URL: database.url, QUEUE_URL: queue, HASH_CONCURRENCY: '1', ...settings })

const logInAt = (url: string) =>
  fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: user.email, password: PASSWORD }),
  })

/** NODE_OPTIONS that run `script` before the service does. */
const runFirst = (script: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`,
})
const SIGTERM_TO_SELF = 'process.kill(process.pid, "SIGTERM")'

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
