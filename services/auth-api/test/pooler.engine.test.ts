import type { Queryable } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { ping } from '@latchkey/shared/database/ping.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { adminUrl, engine } from '@latchkey/test-support/engine.ts'
import { startPgbouncer, throughPgbouncer } from '@latchkey/test-support/pgbouncer-container.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import pg from 'pg'
import { describe, expect, it } from 'vitest'

/** Settings that Latchkey otherwise sets for itself. */
const READ_OTHER = `select current_setting('statement_timeout') as limit,
  current_setting('default_transaction_isolation') as isolation, current_setting('synchronous_commit') as commit`

describe.runIf(engine() === 'pgbouncer')('a pooler in transaction mode', () => {
  it('gives no session of Latchkey to another client, and its own to all of Latchkey', async () => {
    await using database = await createTestDatabase()
    const name = new URL(database.url).pathname.slice(1)
    await database.db.runScript(`alter database ${name} set timezone = 'America/New_York'`)
    const db = await openDatabase(database.url, { poolSize: 8 })
    const sessions = (on: Queryable) =>
      on.query({
        name: 'test-session',
        text: "select current_setting('TimeZone') as zone, current_setting('DateStyle') as style",
      })
    const inTransactions = Array.from({ length: 8 }, () => db.transaction(sessions))
    const read = (await Promise.all([sessions(db), ...inTransactions])).flat()
    expect(read).toEqual(read.map(() => ({ zone: 'UTC', style: 'ISO, MDY' })))

    const others = Array.from({ length: 8 }, () => new pg.Client(database.url))
    await Promise.all(others.map((other) => other.connect()))
    const settings = await Promise.all(
      others.map(async (other) => {
        await other.query('begin')
        const { rows } = await other.query(READ_OTHER)
        return rows[0]
      }),
    )
    await Promise.all(others.map((other) => other.end()))
    await db.close()
    const untouched = { limit: '0', isolation: 'serializable', commit: 'off' }
    expect(settings).toEqual(settings.map(() => untouched))
  })

  it('is refused as the address of the queue', async () => {
    await using database = await createTestDatabase()
    await expect(prepareQueue(database.url)).rejects.toThrow('set it to the address of PostgreSQL itself')
    const queue = openMailQueue(database.url, { readInstallation: async () => 'test' })
    await expect(queue.ping()).rejects.toThrow()
    await queue.close()
  })
})

describe.runIf(engine() === 'pgbouncer')('a pooler', () => {
  it.each([
    { settings: { pool_mode: 'statement' }, says: 'set pool_mode = transaction' },
    // With one session, which all clients share, the second one prepares what the first one has.
    {
      settings: { max_prepared_statements: 0, default_pool_size: 1 },
      says: 'set max_prepared_statements',
    },
  ])('with $settings is refused with the line that is right', async ({ settings, says }) => {
    await using database = await createTestDatabase()
    const pooler = await startPgbouncer(new URL(await adminUrl()), settings)
    try {
      const url = throughPgbouncer(database.url, pooler)
      const pingAll = () =>
        withDatabase(url, (db) => Promise.all([1, 2, 3, 4].map(() => ping(db))), { poolSize: 4 })
      await expect(pingAll()).rejects.toThrow(says)
    } finally {
      await pooler.stop()
    }
  })
})
