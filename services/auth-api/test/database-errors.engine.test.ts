import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import { createEmptyDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let database: TestDatabase
beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const FAIL = { name: 'test-fail', text: isPostgres() ? 'select fail()' : 'call fail()' }

/** The errors that each server reports, by the words of the SQL standard or its own. */
const FAILURES: { why: string; postgres: string; mysql: [sqlState: string, errno: number] }[] = [
  { why: 'a deadlock', postgres: '40P01', mysql: ['40001', 1213] },
  { why: 'a failed serialization', postgres: '40001', mysql: ['40001', 1213] },
  { why: 'a lost connection', postgres: '08006', mysql: ['08S01', 1158] },
  { why: 'too many connections', postgres: '53300', mysql: ['08004', 1040] },
  { why: 'too little memory', postgres: '53200', mysql: ['HY001', 1037] },
  { why: 'a full disk', postgres: '53100', mysql: ['HY000', 1021] },
  { why: 'an unwritable disk', postgres: '58030', mysql: ['HY000', 1026] },
  { why: 'a failover to a replica', postgres: '25006', mysql: ['HY000', 1290] },
  { why: 'a shutdown', postgres: '57P01', mysql: ['08S01', 1053] },
]

describe('a transaction that the server ends', () => {
  it.each(FAILURES)('because of $why is refused as unavailable', async ({ postgres, mysql }) => {
    await createFailingFunction(postgres, mysql)
    let attempts = 0
    const refused = database.db.transaction(async (transaction) => {
      attempts++
      await transaction.query(FAIL)
    })
    await expect(refused).rejects.toMatchObject({
      code: 'unavailable',
      retryAfterSeconds: expect.any(Number),
    })
    const isRepeated = ['40P01', '40001'].includes(postgres)
    expect(attempts).toBe(isRepeated ? 15 : 1)
  })

  it('because of a fault in the statement is not', async () => {
    await createFailingFunction('22012', ['22012', 1365])
    const refused = database.db.transaction((transaction) => transaction.query(FAIL))
    await expect(refused).rejects.not.toMatchObject({ code: 'unavailable' })
  })
})

it('a single statement is repeated after a failed serialization', async () => {
  const { db } = database
  // MySQL replaces no procedure in one step: this one reads whether it fails.
  await (isPostgres()
    ? createFailingFunction('40001', ['40001', 1213])
    : db.runScript(
        `create table failing (id integer primary key); insert into failing values (1); drop procedure if exists fail;
        create procedure fail() if exists (select 1 from failing)
          then signal sqlstate '40001' set mysql_errno = 1213, message_text = 'no'; else select 1; end if`,
      ))
  const repeated = expect(db.query(FAIL)).resolves.toBeDefined()
  await wait(100)
  await db.runScript(
    isPostgres()
      ? 'create or replace function fail() returns void language sql as $$ select $$'
      : 'delete from failing',
  )
  await repeated
})

describe('statements', () => {
  const ONE = { name: 'test-one', text: 'select 1 as one' }

  it('that are sent together fail one by one', async () => {
    await createFailingFunction('22012', ['22012', 1365])
    const { db } = database
    const sent = Array.from({ length: 40 }, (_, index) => db.query(index % 4 === 1 ? FAIL : ONE))
    const outcomes = (await Promise.allSettled(sent)).map(({ status }) => status)
    expect(outcomes).toEqual(sent.map((_, index) => (index % 4 === 1 ? 'rejected' : 'fulfilled')))
    await expect.poll(() => db.usage()).toEqual({ inUse: 0, waiting: 0 })
  })

  it('that wait for a connection are counted', async () => {
    const db = await openDatabase(database.url, { poolSize: 1 })
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const holding = db.transaction(() => held)
    await expect.poll(() => db.usage()).toEqual({ inUse: 1, waiting: 0 })
    const sent = [ONE, ONE, ONE].map((statement) => db.query(statement))
    // PostgreSQL's leave together.
    await expect.poll(() => db.usage()).toEqual({ inUse: 1, waiting: isPostgres() ? 1 : 3 })
    release()
    await Promise.all([holding, ...sent])
    await expect.poll(() => db.usage()).toEqual({ inUse: 0, waiting: 0 })
    await db.close()
  })

  it('fail for the reason of the first one of their transaction that failed', async () => {
    await createFailingFunction('53100', ['HY000', 1021])
    let outcomes: PromiseSettledResult<unknown>[] = []
    const failing = database.db.transaction(async (transaction) => {
      const sent = [transaction.query(ONE), transaction.query(FAIL), transaction.query(ONE)]
      outcomes = await Promise.allSettled(sent)
      await sent[2]
    })
    await expect(failing).rejects.toMatchObject({ code: 'unavailable' })
    const unavailable = { status: 'rejected', reason: { code: 'unavailable' } }
    expect(outcomes).toMatchObject([{ status: 'fulfilled' }, unavailable, unavailable])
  })

  it('are refused once their transaction has ended', async () => {
    const { db } = database
    const committed = await db.transaction(async (transaction) => () => transaction.query(ONE))
    await expect(committed()).rejects.toThrow('The transaction has ended')
    let rolledBack = committed
    const undone = db.transaction(async (transaction) => {
      rolledBack = () => transaction.query(ONE)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    await expect(rolledBack()).rejects.toThrow('The transaction has ended')
  })
})

describe('a login that the server refuses', () => {
  it.each([
    {
      why: 'another password',
      change: (url: URL) => Object.assign(url, { password: 'another' }),
      says: 'the user name or the password',
    },
    {
      why: 'no such database',
      change: (url: URL) => Object.assign(url, { pathname: '/nosuch' }),
      says: 'no such database',
    },
  ])('names DATABASE_URL and shows no password: $why', async ({ change, says }) => {
    const url = change(new URL(database.url)).href
    const failure = await withDatabase(url, (db) =>
      db.query({ name: 'test-two', text: 'select 2 as two' }),
    ).catch(String)
    expect(failure).toContain(`${new URL(url).host} (DATABASE_URL) cannot be reached: `)
    expect(failure).toContain(says)
    expect(failure).not.toContain('another')
  })
})

const createFailingFunction = (
  postgres: string,
  [sqlState, errno]: [sqlState: string, errno: number],
): Promise<void> =>
  database.db.runScript(
    isPostgres()
      ? `create or replace function fail() returns void language plpgsql as
          $$ begin raise exception using errcode = '${postgres}', message = 'no'; end $$`
      : `drop procedure if exists fail; create procedure fail() signal sqlstate '${sqlState}' set mysql_errno = ${errno}, message_text = 'no'`,
  )
