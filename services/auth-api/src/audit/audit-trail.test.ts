import type { Database, SqlValue } from '@latchkey/shared/database/database.ts'
import { aTransaction } from '@latchkey/shared/database/test/a-transaction.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { openAuditTrail } from './audit-trail.ts'

/** An audit trail whose inserts run `insert`; its rows are those that were stored. */
function startTrail(insert: () => Promise<void> = async () => undefined) {
  const rows: SqlValue[][] = []
  const transaction = aTransaction({
    async execute(_statement, values = []) {
      await insert()
      const inserted: Record<string, SqlValue>[] = JSON.parse(String(values[0]))
      rows.push(...inserted.map((row) => Object.values(row)))
      return inserted.length
    },
    afterCommit: (work) => work(),
  })
  const db: Pick<Database, 'transaction'> = { transaction: (work) => work(transaction) }
  const logger = { info: vi.fn(), warn: vi.fn() }
  const registry = new Registry()
  const trail = openAuditTrail({ db, logger, registry, localNow: () => 0, flushMs: 5, windowMs: 20 })
  const dropped = async () =>
    (await registry.getSingleMetric('latchkey_audit_dropped_total')?.get())?.values[0]?.value
  return { trail, rows, logger, dropped, transaction }
}

const LOGIN = { name: 'login.succeeded', userid: 'ada', address: '192.0.2.1', requestId: 'r1' } as const
const unavailable = () => Promise.reject(new AppError('unavailable', 'The database cannot be reached'))

describe('the audit trail', () => {
  it('warns of a token that was used again', async () => {
    const { trail, logger } = startTrail()
    trail.report({ name: 'token.reused', userid: 'ada' })
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith({ userid: 'ada' }, 'token.reused')
    await trail.close()
  })

  it('logs no event of a transaction that is rolled back', async () => {
    const { trail, transaction, logger } = startTrail()
    await trail.write({ ...transaction, afterCommit: () => undefined }, { name: 'password.changed' })
    expect(logger.info).not.toHaveBeenCalled()
    await trail.close()
  })
})

describe('a database that is unavailable', () => {
  it('gets every event once it is back', async () => {
    let isUp = false
    const { trail, rows, logger } = startTrail(() => (isUp ? Promise.resolve() : unavailable()))
    for (let n = 0; n < 50; n++) trail.report({ ...LOGIN, userid: `user ${n}` })
    await expect.poll(() => logger.warn.mock.calls.length).toBe(1)
    isUp = true
    await expect.poll(() => rows.length).toBe(50)
    expect(logger.warn, 'says it once').toHaveBeenCalledOnce()
    await trail.close()
  })

  it('costs a bounded memory: further events are in the log only, and counted', async () => {
    const { trail, dropped } = startTrail(unavailable)
    let reported = 0
    await expect
      .poll(() => {
        for (const end = reported + 6_000; reported < end; reported++)
          trail.report({ ...LOGIN, userid: `user ${reported}` })
        return dropped()
      })
      .toBeGreaterThan(0)
    await trail.close()
  })
})

it('drops events that the database refuses: they must not keep it from the next ones', async () => {
  const insert = vi.fn(async () => undefined)
  insert.mockRejectedValueOnce(new AppError('invalid_input', 'The database cannot store one of the values'))
  const { trail, rows, dropped } = startTrail(insert)
  trail.report(LOGIN)
  await expect.poll(dropped).toBe(1)
  trail.report({ ...LOGIN, userid: 'grace' })
  await expect.poll(() => rows.map(([, userid]) => userid)).toEqual(['grace'])
  await trail.close()
})
