import { isDeepStrictEqual } from 'node:util'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { engine, isPostgres, queueUrl } from '@latchkey/test-support/engine.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '@latchkey/test-support/test-database.ts'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { describe, it } from 'vitest'
import { startSeverableProxy } from './support/severable-proxy.ts'

describe.concurrent('an unavailable database', () => {
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
    const columns = 'information_schema.columns'
    const endless = {
      name: 'endless',
      text: `select count(*) from ${columns} a, ${columns} b, ${columns} c, ${columns} d`,
    }
    const cancel = async () => {
      const before = await readConnection()
      await expect(db.query(endless)).rejects.toMatchObject({ code: 'unavailable' })
      return isDeepStrictEqual(await readConnection(), before) ? 'kept' : 'dropped'
    }
    // The server has a second to cancel it before the client drops the connection; a busy one may be late.
    // Behind a pooler, the connection to the server may be another one.
    if (engine() === 'pgbouncer') await cancel()
    else await expect.poll(cancel).toBe('kept')
    await db.close()
  })
})

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

/** Counts the connections that the server has to this database. */
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
