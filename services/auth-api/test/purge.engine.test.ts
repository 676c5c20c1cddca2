import type { Database } from '@latchkey/shared/database/database.ts'
import { listExpiringTables, OTHER_TABLES } from '@latchkey/shared/maintenance/expiring-tables.ts'
import { createPurge } from '@latchkey/shared/maintenance/purge-expired.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import { countRows, createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'

/** Adds this many events, a second apart, from 2020 on. */
async function addDueEvents(db: Database, count: number): Promise<void> {
  const digits = Array.from({ length: 10 }, (_, digit) => `select ${digit} as d`).join(' union all ')
  const tables = Array.from({ length: 4 }, (_, at) => `digits d${at}`).join(' cross join ')
  const number = Array.from({ length: 4 }, (_, at) => `d${at}.d * ${10 ** at}`).join(' + ')
  const shift = isPostgres() ? "i * interval '1 second'" : 'interval i second'
  await db.runScript(
    `insert into audit_event (name, created_at)
      with digits as (${digits}), numbers as (select ${number} as i from ${tables})
      select 'login.refused', timestamp '2020-01-01 00:00:00' + ${shift} from numbers where i < ${count}`,
  )
}

function aPurge(db: Pick<Database, 'query' | 'execute'>) {
  const registry = new Registry()
  const purge = createPurge({ db, registry, auditDays: 90, localNow: Date.now })
  const metricOf = async (metric: string, table: string) => {
    const [line] = (await registry.metrics()).match(new RegExp(`^${metric}{table="${table}"} .*$`, 'm')) ?? []
    return Number(line?.split(' ').at(-1))
  }
  return { purge, metricOf }
}

describe('the purge', () => {
  it('deletes any number of rows by statements of a thousand, and says how far behind it is', async () => {
    await using database = await createTestDatabase()
    const { db } = database
    await addDueEvents(db, 3_500)
    await db.runScript("insert into audit_event (name) values ('login.refused')")
    const deleted: number[] = []
    const starts: unknown[] = []
    const { purge, metricOf } = aPurge({
      query(statement, values) {
        if (statement.name === 'audit_event-due') starts.push(values?.[0])
        return db.query(statement, values)
      },
      async execute(statement, values) {
        const count = await db.execute(statement, values)
        deleted.push(count)
        return count
      },
    })
    expect(await metricOf('latchkey_purge_overdue_seconds', 'audit_event')).toBeGreaterThan(10_000_000)
    await purge(new AbortController().signal)
    expect(deleted).toEqual([1_000, 1_000, 1_000, 500])
    const starting = [0, 999, 1_999, 2_999].map((second) => second && Date.UTC(2020, 0, 1, 0, 0, second))
    expect(starts, 'each batch begins where the one before ended').toEqual(starting.map((at) => new Date(at)))
    expect(await countRows(db, 'audit_event')).toBe(1)
    expect(await metricOf('latchkey_purged_rows_total', 'audit_event')).toBe(3_500)
    expect(await metricOf('latchkey_purge_overdue_seconds', 'audit_event')).toBe(0)
  })

  it('goes on with the other tables when one fails, and ends early when it is stopped', async () => {
    await using database = await createTestDatabase()
    const { db } = database
    await addDueEvents(db, 3_500)
    const failing: Pick<Database, 'query' | 'execute'> = {
      query: (statement, values) =>
        statement.name.startsWith('password_reset')
          ? Promise.reject(new Error('password_reset is locked'))
          : db.query(statement, values),
      execute: db.execute,
    }
    const { purge, metricOf } = aPurge(failing)
    await expect(purge(AbortSignal.abort())).rejects.toThrow('password_reset: password_reset is locked')
    expect(await countRows(db, 'audit_event'), 'after one batch').toBe(2_500)
    await expect(purge(new AbortController().signal)).rejects.toThrow(
      'password_reset: password_reset is locked',
    )
    expect(await countRows(db, 'audit_event')).toBe(0)
    expect(await metricOf('latchkey_purge_overdue_seconds', 'password_reset')).toBeNaN()
  })
})

describe('the declarations of what expires', () => {
  const EXPIRING = listExpiringTables(90)
  const read = async (db: Database, what: 'tables' | 'columns' | 'views', columns: string) => {
    const schema = isPostgres() ? 'current_schema()' : 'database()'
    const text = `select ${columns} from information_schema.${what} where table_schema = ${schema}`
    return db.query<Record<'name' | 'value', string>>({ name: `test-${what}`, text })
  }

  it('name every table of the migrations, and each column that says when a row expires', async () => {
    await using database = await createTestDatabase()
    const { db } = database
    const tables = await read(db, 'tables', 'table_name as name, table_type as value')
    const declared = [...EXPIRING.map(({ table }) => table), ...Object.keys(OTHER_TABLES)]
    expect(
      tables
        // Only a cluster has the row that is its lock.
        .filter(({ name, value }) => value === 'BASE TABLE' && name !== 'latchkey_lock')
        .map(({ name }) => name)
        .sort(),
    ).toEqual(declared.sort())
    const columns = await read(db, 'columns', 'table_name as name, column_name as value')
    const expiring = columns.filter(
      ({ name, value }) => /expire|until|valid_to/.test(value) && !name.startsWith('expired_'),
    )
    const known = [...EXPIRING, { table: 'mail_outbox', column: 'expires_at' }]
    for (const { name, value } of expiring)
      expect(known).toContainEqual(expect.objectContaining({ table: name, column: value }))
    expect(expiring.length).toBeGreaterThan(5)
  })

  it('have the column that their view shows', async () => {
    await using database = await createTestDatabase()
    const views = await read(database.db, 'views', 'table_name as name, view_definition as value')
    const shown = views.map(({ name, value }) => [name, /(\w+)\W+as\W+moment/i.exec(value)?.[1]])
    const declared = EXPIRING.map(({ table, column }) => [`expired_${table}`, column])
    // The rows of erased users stay, without the person.
    expect(shown.sort()).toEqual([...declared, ['expired_audit_person', undefined]].sort())
  })
})
