import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { addressOf, type Service, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { RedisContainer, type StartedRedisContainer } from '@testcontainers/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let database: TestDatabase
let redis: StartedRedisContainer
beforeAll(async () => {
  ;[database, redis] = await Promise.all([createTestDatabase(), new RedisContainer('redis:8').start()])
})
afterAll(() => Promise.all([database[Symbol.asyncDispose](), redis.stop()]))

const startService = (queueUrl: string) =>
  startAuthApiProcess({ DATABASE_URL: database.url, QUEUE_URL: queueUrl, LOG_LEVEL: 'debug' })
const expectLogged = (service: Service, text: string) =>
  expect.poll(service.output, { interval: 50 }).toContain(text)

describe('what is logged when Redis refuses', () => {
  it('a mail, is neither its address nor its variables', async () => {
    await using service = startService(redis.getConnectionUrl())
    const address = await addressOf(service)
    // A command that Redis does not know yet carries the whole script, and with it the mail.
    await redis.executeCliCmd('config', ['set', 'maxmemory', '1'])
    const { email } = await aUser({ users: createUserRepository(database.db) })
    const reset = await fetch(`${address}/login/resetrequest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email }),
    })
    expect(reset.status).toBe(200)
    await expectLogged(service, 'dispatching a mail failed')
    expect(service.output()).toContain('OOM command not allowed')
    expect(service.output()).not.toContain(email)
    expect(service.output()).not.toMatch(/variables|redis\.call/)
  })

  it('the service itself, is not the password that it came with', async () => {
    const url = new URL(redis.getConnectionUrl())
    url.username = 'stranger'
    url.password = 'the-password-of-a-stranger'
    await using service = startService(url.href)
    await expectLogged(service, 'the mail queue is unavailable')
    await expectLogged(service, 'the Redis of the limits is unavailable')
    expect(service.output()).toContain('WRONGPASS')
    expect(service.output()).not.toContain('the-password-of-a-stranger')
  })
})
