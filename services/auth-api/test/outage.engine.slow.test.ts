import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { ping } from '@latchkey/shared/database/ping.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { openMailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { describe, it } from 'vitest'
import { engine, isPostgres, queueUrl } from '../../test/support/engine.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../test/support/test-database.ts'
import { startSeverableProxy } from './support/severable-proxy.ts'
import { aToken, aUser, bearer, logIn, startApp } from './support/start-app.ts'

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

  it('that stops answering times out, and is reached again over new connections', async ({ expect }) => {
    await using database = await createTestDatabase()
    await using proxy = await startSeverableProxy(database.url)
    const db = await openDatabase(proxy.url, { poolSize: 2, statementTimeoutMs: 4_000 })
    const count = async () =>
      (await db.query({ name: 'count-users', text: 'select userid from users' })).length
    const countInTransaction = () => db.transaction(count)
    await Promise.all([count(), countInTransaction()])

    proxy.strand()
    const unanswered = [count(), countInTransaction(), count(), countInTransaction(), count()]
    expect(await Promise.all(unanswered.map((each) => each.catch((error) => error.code)))).toEqual(
      unanswered.map(() => 'unavailable'),
    )
    expect(await Promise.all([count(), countInTransaction(), count()])).toEqual([0, 0, 0])
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
    // What a session of a standby has, too.
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    const uses: ((db: Database) => Promise<unknown>)[] = [
      ping,
      (db) => db.query({ name: 'test-one', text: 'select 1 as one' }),
      (db) => createMigrator(db).up(),
    ]
    for (const use of uses)
      await expect(withDatabase(url.href, use)).rejects.toThrow('the URL must lead to the primary')
  })

  it('that waits for a lock times out without additional connections, and works when the lock ends', async ({
    expect,
  }) => {
    await using database = await createTestDatabase()
    await limitStatements(database)
    const db = await openDatabase(database.url, { poolSize: 2, statementTimeoutMs: 2_000 })
    const count = async () =>
      (await db.query({ name: 'count-users', text: 'select userid from users' })).length
    const rename = () =>
      db.transaction((tx) => tx.execute({ name: 'rename', text: "update users set name = 'x'" }))
    await Promise.all([count(), rename()])
    const before = await countConnections(database)

    const lock = await lockTable(database, 'users')
    const outcomes: unknown[] = []
    const connections: number[] = []
    for (let round = 0; round < 2; round++) {
      const waiting = [count(), rename(), count(), rename()]
      outcomes.push(...(await Promise.all(waiting.map((each) => each.catch((error) => error.code)))))
      connections.push(await countConnections(database))
    }
    await lock.end()

    expect(outcomes).toEqual(outcomes.map(() => 'unavailable'))
    const useAgain = () => Promise.all([count(), rename(), count()])
    if (engine() === 'pgbouncer') {
      // It opens as many connections to the server as it likes. It keeps the name of a statement that could not be prepared,
      // and ends each connection at its next use.
      await expect.poll(useAgain).toEqual([0, 0, 0])
    } else {
      expect(Math.max(...connections), 'and the one with the lock').toBeLessThanOrEqual(before + 1)
      expect(await useAgain()).toEqual([0, 0, 0])
    }
    await db.close()
  })

  it('cancels a statement that takes too long, and keeps its connection', async ({ expect }) => {
    await using database = await createTestDatabase()
    await limitStatements(database)
    const db = await openDatabase(database.url, { poolSize: 1, statementTimeoutMs: 2_000 })
    const readConnection = () =>
      db.query({
        name: 'read-connection',
        text: isPostgres() ? 'select pg_backend_pid() as id' : 'select connection_id() as id',
      })
    const before = await readConnection()
    const columns = 'information_schema.columns'
    const endless = {
      name: 'endless',
      text: `select count(*) from ${columns} a, ${columns} b, ${columns} c, ${columns} d`,
    }
    await expect(db.query(endless)).rejects.toMatchObject({ code: 'unavailable' })
    // Behind a pooler, the connection to the server may be another one.
    if (engine() !== 'pgbouncer') expect(await readConnection()).toEqual(before)
    await db.close()
  })
})

/** For the session, what a server says that has become a replica. */
const BECOME_READ_ONLY = isPostgres()
  ? "select set_config('default_transaction_read_only', 'on', false)"
  : 'set session transaction_read_only = 1'

/** The time limit on the server, which a client of a pooler cannot set. */
async function limitStatements({ url, db }: TestDatabase): Promise<void> {
  if (engine() === 'pgbouncer')
    await db.runScript(`alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '1s'`)
}

/** Locks the table as `alter table` does, until `end`. */
async function lockTable({ url }: TestDatabase, table: string): Promise<{ end(): Promise<void> }> {
  if (!isPostgres()) {
    const connection = await mysql.createConnection(url.replace(/^mariadb:/, 'mysql:'))
    await connection.query(`lock tables ${table} write`)
    return connection
  }
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  return client
}

const COUNT_CONNECTIONS = {
  postgres: 'select pid from pg_stat_activity where datname = $1',
  // Its processlist fails on a statement of another session that holds binary values.
  mysql: 'select thread_id from performance_schema.threads where processlist_db = $1',
  mariadb: 'select id from information_schema.processlist where db = $1',
}

/** How many connections the server has to this database. */
async function countConnections({ url, db }: TestDatabase): Promise<number> {
  const rows = await db.query(
    {
      name: 'count-connections',
      text: COUNT_CONNECTIONS[isPostgres() ? 'postgres' : engine() === 'mysql' ? 'mysql' : 'mariadb'],
    },
    [new URL(url).pathname.slice(1)],
  )
  return rows.length
}

describe.concurrent('a mail queue that gives no answer', () => {
  it('is reached again over new connections', async ({ expect }) => {
    await using proxy = await startSeverableProxy(await queueUrl())
    const queue = openMailQueue(proxy.url, { readInstallation: async () => 'test', timeoutMs: 1_000 })
    const pingAll = () => Promise.all([1, 2, 3, 4].map(() => queue.ping()))
    const answers = () => pingAll().then(() => 'answers', String)
    await expect.poll(answers).toBe('answers')
    proxy.strand()
    await expect(pingAll()).rejects.toThrow('did not answer')
    await expect.poll(answers).toBe('answers')
    await queue.close()
  })

  it.runIf(isPostgres() && engine() !== 'pgbouncer')(
    'because of a lock costs its server no more connections',
    async ({ expect }) => {
      await using database = await createEmptyDatabase()
      await prepareQueue(database.url)
      const queue = openMailQueue(database.url, { readInstallation: async () => 'test', timeoutMs: 6_000 })
      const pingAll = () => Promise.all([1, 2, 3].map(() => queue.ping().then(() => 'answers', String)))
      await pingAll()
      const before = await countConnections(database)
      const lock = await lockTable(database, 'bullmq.job')
      const outcomes = [...(await pingAll()), ...(await pingAll())]
      const after = await countConnections(database)
      await lock.end()

      expect(outcomes).not.toContain('answers')
      expect(after, 'and the one with the lock').toBeLessThanOrEqual(before + 1)
      expect(await pingAll()).toEqual(['answers', 'answers', 'answers'])
      await queue.close()
    },
  )
})
