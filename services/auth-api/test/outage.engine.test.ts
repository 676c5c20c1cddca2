import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { ping } from '@latchkey/shared/database/ping.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, it } from 'vitest'
import { startSeverableProxy } from './support/severable-proxy.ts'
import { aToken, bearer, logIn, startApp } from './support/start-app.ts'

/** Makes the session refuse writes, as a server does that has become a replica. */
const BECOME_READ_ONLY = isPostgres()
  ? "select set_config('default_transaction_read_only', 'on', false)"
  : 'set session transaction_read_only = 1'

describe.concurrent('an unavailable database', () => {
  it('causes 503 with Retry-After until it is available again', async ({ expect }) => {
    await using database = await createTestDatabase()
    await using proxy = await startSeverableProxy(database.url)
    const db = await openDatabase(proxy.url, { poolSize: 4, onConnectionError: () => undefined })
    await using app = await startApp({
      database: { url: proxy.url, db, [Symbol.asyncDispose]: () => db.close() },
    })
    const user = await aUser(app)
    const token = await aToken(app, user)
    const readProfile = () => app.server.inject({ url: '/profile', headers: bearer(token) })
    const readReady = () => app.server.inject({ url: '/health/ready' })
    await expect.poll(async () => (await readReady()).statusCode).toBe(200)

    proxy.sever()
    for (const response of await Promise.all([readProfile(), logIn(app, user.email), readProfile()])) {
      expect(response.statusCode).toBe(503)
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
      expect(response.json().type).toBe('urn:latchkey:problem:unavailable')
      expect(response.body).not.toMatch(/ECONN|127\.0\.0\.1|password|select/i)
    }
    await expect.poll(async () => (await readReady()).statusCode).toBe(503)
    const unready = await readReady()
    expect(unready.json().checks.database).toBe('unreachable')
    expect((await app.server.inject({ url: '/health/live' })).statusCode, 'the process itself is alive').toBe(
      200,
    )

    proxy.restore()
    await expect.poll(async () => (await readProfile()).statusCode).toBe(200)
    await expect.poll(async () => (await readReady()).statusCode).toBe(200)
    expect((await logIn(app, user.email)).statusCode).toBe(200)
    await db.close()
  })

  it('leaves a remembered token valid until REVOCATION_CACHE is over, and no change possible', async ({
    expect,
  }) => {
    await using database = await createTestDatabase()
    await using proxy = await startSeverableProxy(database.url)
    const db = await openDatabase(proxy.url, { poolSize: 4, onConnectionError: () => undefined })
    const time = { now: Date.now(), elapsed: 0 }
    await using app = await startApp({ database: { ...database, db }, time })
    const headers = bearer(await aToken(app, await aUser(app)))
    const ping = () => app.server.inject({ url: '/sampleprotected/ping', headers })
    const logOut = () => app.server.inject({ method: 'POST', url: '/logout', headers })
    expect((await ping()).statusCode).toBe(200)

    proxy.sever()
    time.elapsed = 1_000 * app.config.tokens.revocationCacheSeconds
    expect((await ping()).statusCode).toBe(200)
    expect((await logOut()).statusCode).toBe(503)
    time.elapsed += 1
    const refused = await ping()
    expect([refused.statusCode, Number(refused.headers['retry-after'])]).toEqual([503, 2])
    proxy.restore()
    expect((await ping()).statusCode).toBe(200)
    await db.close()
  })

  it('that only reads is left, and readiness says so', async ({ expect }) => {
    await using database = await createTestDatabase()
    const db = await openDatabase(database.url, { poolSize: 1 })
    await using app = await startApp({ database: { ...database, db } })
    const user = await aUser(app)
    const token = await aToken(app, user)
    const rename = async () => {
      const payload = { name: 'Grace' }
      const response = await app.server.inject({
        method: 'PUT',
        url: '/profile',
        headers: bearer(token),
        payload,
      })
      return response.statusCode
    }
    const becomeReadOnly = () => db.query({ name: 'test-read-only', text: BECOME_READ_ONLY })
    expect(await rename()).toBe(200)

    await becomeReadOnly()
    expect([await rename(), await rename()]).toEqual([503, 200])
    if (isPostgres()) {
      await becomeReadOnly()
      const readiness = await app.server.inject({ url: '/health/ready' })
      expect([readiness.statusCode, readiness.json().checks.database]).toEqual([503, 'unreachable'])
      await expect(ping(db), 'another connection').resolves.toEqual({ now: expect.any(Date) })
      await becomeReadOnly()
      const insert = { name: 'test-insert', text: "insert into users (username, password) values ('a', 'x')" }
      await expect(db.execute(insert)).rejects.toMatchObject({ code: 'unavailable' })
      expect(await db.execute(insert), 'outside of a transaction').toBe(1)
    }
    await db.close()
  })

  it.runIf(isPostgres())('that is a replica is refused at the first connection', async ({ expect }) => {
    await using database = await createTestDatabase()
    const url = new URL(database.url)
    // A session of a standby has it, too.
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    const uses: ((db: Database) => Promise<unknown>)[] = [
      ping,
      (db) => db.query({ name: 'test-one', text: 'select 1 as one' }),
      (db) => createMigrator(db).up(),
    ]
    for (const use of uses)
      await expect(withDatabase(url.href, use)).rejects.toThrow('the URL must lead to the primary')
  })
})
