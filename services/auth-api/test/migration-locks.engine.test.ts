import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { type Migration, readAllMigrations } from '@latchkey/shared/database/migration-files.ts'
import { createMigrator, MIGRATION_LOCK } from '@latchkey/shared/database/migrations.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { engine, isCluster, isPostgres } from '@latchkey/test-support/engine.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it, onTestFinished, vi } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const SHIPPED = readAllMigrations(isPostgres() ? 'postgres' : 'mysql')

const aMigration = (name: string, upSql: string): Migration => ({
  name,
  upSql,
  downSql: 'select 1',
  checksum: '1'.repeat(64),
})
const WIDER = aMigration('9998_wider', 'alter table users add column extra integer')
const AFTER = aMigration('9999_after', 'create table after_it (id integer)')
const INDEX = aMigration('9997_index', 'create index if not exists ix_extra on users (name);')

/** Shorter than that of an operator. */
const PACE = { timeoutMs: 1_000, pauseMs: 300 }

const run = <Row extends object>(db: Queryable, text: string) =>
  db.query<Row>({ name: `test-${text.slice(0, 50)}`, text })

/** A database with two users, one of which another transaction changes until it is released. */
async function aLockedDatabase() {
  const database = await createTestDatabase()
  const users = createUserRepository(database.db)
  const locked = await users.insert({ username: 'locked', passwordHash: 'x' })
  const free = await users.insert({ username: 'free', passwordHash: 'x' })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const isHeld = Promise.withResolvers<void>()
  const holding = database.db.transaction(async (transaction) => {
    await createUserRepository(transaction).setPassword(locked, 'y')
    isHeld.resolve()
    await released
  })
  await isHeld.promise
  onTestFinished(async () => {
    release()
    await holding
    await database[Symbol.asyncDispose]()
  })
  // A statement that is blocked for longer than an attempt of a migration fails.
  const writer = await openDatabase(database.url, { poolSize: 1, statementTimeoutMs: 5_000 })
  onTestFinished(() => writer.close())
  return {
    ...database,
    release() {
      release()
      return holding
    },
    async writes(count = 5) {
      for (let at = 0; at < count; at++) await createUserRepository(writer).setPassword(free, `z${at}`)
    },
  }
}

/** Begins to migrate, with what the migration waits for. */
function begin(db: Database, pending: Migration[], pace: object = PACE) {
  const waits: string[] = []
  const ended = createMigrator(db, [...SHIPPED, ...pending], {
    ...pace,
    onWait: (text) => waits.push(text),
  }).up()
  ended.catch(() => undefined)
  return { ended, waits }
}

const indexes = async (db: Database): Promise<unknown[]> =>
  run(
    db,
    `select relname, indisvalid from pg_index join pg_class on pg_class.oid = indexrelid
    where relname in ('ix_extra', 'ix_users_token_lookup', 'ix_email_sigma') order by relname`,
  )

const isWaiting = isPostgres()
  ? /^waits for a lock on users, held by pid \d+ \(idle in transaction, \w+, latchkey, since 20.*UTC\)$/
  : /^waits for a table metadata lock; open transactions: connection \d+ \(Sleep, \w+, since 20/

// A node of Galera ends the transactions that hold a table; `mysql-clusters.soak.test.ts` takes the lock of two nodes.
const TABLES_ARE_WAITED_FOR = !isCluster() && engine() !== 'given'

describe.runIf(TABLES_ARE_WAITED_FOR)('a migration that waits for a table', () => {
  it('says who holds it, lets others write, and is applied when it is free', async () => {
    const { db, release, writes } = await aLockedDatabase()
    const { ended, waits } = begin(db, [WIDER])
    await expect.poll(() => waits).toContainEqual(expect.stringMatching(isWaiting))
    await writes(20)
    await release()
    expect(await ended).toEqual([WIDER.name])
  })

  it('gives up with the same words, and is applied by the next run', async () => {
    const { db, release } = await aLockedDatabase()
    const { ended, waits } = begin(db, [WIDER, AFTER])
    await expect.poll(() => waits).toContainEqual(expect.stringMatching(isWaiting))
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 301_000 })
    await expect(ended)
      .rejects.toThrow(
        new RegExp(
          `9998_wider.*waited 300 s for ${isWaiting.source.slice(11, -1)}.*; end that transaction, then migrate again`,
        ),
      )
      .finally(() => vi.useRealTimers())
    await release()
    expect(await begin(db, [WIDER, AFTER]).ended).toEqual([WIDER.name, AFTER.name])
  })

  it('stops before its next change when the lock of migrations is lost', async () => {
    const { db, release } = await aLockedDatabase()
    const { ended, waits } = begin(db, [WIDER, AFTER])
    await expect.poll(() => waits).toContainEqual(expect.stringMatching(isWaiting))
    const holder = isPostgres()
      ? `select pid as id from pg_locks where locktype = 'advisory' and granted
          and database = (select oid from pg_database where datname = current_database())`
      : `select id from (select is_used_lock(concat('${MIGRATION_LOCK} ', left(sha2(database(), 256), 40))) as id) as held where id is not null`
    const [{ id } = { id: 0 }] = await run<{ id: number }>(db, holder)
    await run(db, isPostgres() ? `select pg_terminate_backend(${id})` : `kill ${id}`)
    await expect.poll(() => run(db, holder)).toEqual([])
    await release()
    await expect(ended).rejects.toThrow(`The lock ${MIGRATION_LOCK} was lost`)
    const status = await createMigrator(db, [...SHIPPED, WIDER, AFTER]).status()
    expect(status.filter(({ appliedAt }) => !appliedAt).map(({ name }) => name)).toEqual([
      WIDER.name,
      AFTER.name,
    ])
  })
})

describe.runIf(TABLES_ARE_WAITED_FOR)('two migrations at once', () => {
  it('the second says that it waits for the first, and applies nothing again', async () => {
    const { db, release } = await aLockedDatabase()
    const pending = isPostgres() ? [INDEX, WIDER] : [WIDER]
    const first = begin(db, pending)
    await expect
      .poll(() => first.waits)
      .toContainEqual(expect.stringMatching(/^waits for a (table )?(metadata )?lock/))
    const second = begin(db, pending)
    await expect
      .poll(() => second.waits)
      .toContainEqual(
        expect.stringMatching(/^waits for another migration, which has the lock latchkey_migrations: .+/),
      )
    await release()
    expect(await first.ended).toEqual(pending.map(({ name }) => name))
    expect(await second.ended).toEqual([])
  })
})

describe.runIf(isPostgres())('an index on a table with rows', () => {
  it('is built while others write', async () => {
    const { db, release, writes } = await aLockedDatabase()
    const { ended, waits } = begin(db, [INDEX])
    await expect
      .poll(() => waits)
      .toEqual([expect.stringMatching(/^waits for a lock, held by pid \d+ \(idle in transaction/)])
    await writes()
    await release()
    expect(await ended).toEqual([INDEX.name])
    expect(await indexes(db)).toContainEqual({ relname: 'ix_extra', indisvalid: true })
  })

  it('is built again where the last attempt failed half-way', async () => {
    const { db, release } = await aLockedDatabase()
    const { ended, waits } = begin(db, [INDEX])
    await expect.poll(() => waits).toHaveLength(1)
    await run(
      db,
      `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'create index concurrently%' and pid <> pg_backend_pid()`,
    )
    await expect(ended).rejects.toThrow()
    expect(await indexes(db)).toContainEqual({ relname: 'ix_extra', indisvalid: false })
    await release()
    expect(await begin(db, [INDEX]).ended).toEqual([INDEX.name])
    expect(await indexes(db)).toContainEqual({ relname: 'ix_extra', indisvalid: true })
  })

  it('is built by the run after one that was killed', async () => {
    const { db, url, release } = await aLockedDatabase()
    const before = SHIPPED.findIndex(({ name }) => name.startsWith('0010'))
    await release()
    await createMigrator(db).down(SHIPPED.length - before)
    await db.transaction(async (transaction) => {
      await run(transaction, "update users set name = 'x'")
      const killed = spawn(process.execPath, [join(ROOT, 'scripts/release/migrate.ts')], {
        env: { PATH: process.env.PATH, APP_ENV: 'test', DATABASE_URL: url, QUEUE_URL: 'redis://127.0.0.1:1' },
        stdio: 'ignore',
      })
      await expect
        .poll(() => indexes(db))
        .toContainEqual({ relname: 'ix_users_token_lookup', indisvalid: false })
      killed.kill('SIGKILL')
      await once(killed, 'exit')
    })
    expect(await createMigrator(db).up()).toEqual(SHIPPED.slice(before).map(({ name }) => name))
    expect(await indexes(db)).toEqual([
      { relname: 'ix_email_sigma', indisvalid: true },
      { relname: 'ix_users_token_lookup', indisvalid: true },
    ])
  })
})
