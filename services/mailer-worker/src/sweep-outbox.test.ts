import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { createMailMetrics } from './mail-metrics.ts'
import { createOutboxSweep } from './sweep-outbox.ts'

const NOW = 1_000_000
const job = {
  to: 'ada@example.com',
  subject: '',
  template: 'password-reset',
  language: 'en',
  variables: 'a..b.c.d',
  expiresAt: new Date(NOW + 1).toISOString(),
}
const aRow = (id: string, changes: object = {}) => ({
  id,
  payload: JSON.stringify(job),
  createdAt: new Date(0),
  expiresAt: new Date(NOW + 1),
  ...changes,
})

function aSweep(rows: ReturnType<typeof aRow>[], add = vi.fn(async () => undefined)) {
  const logger = { error: vi.fn(), warn: vi.fn() }
  const outbox = {
    findOlderThan: async (moment: Date) => rows.filter((row) => row.createdAt < moment).slice(0, 100),
    remove: async (id: string) => {
      const index = rows.findIndex((row) => row.id === id)
      if (index >= 0) rows.splice(index, 1)
      return index >= 0
    },
  }
  const metrics = createMailMetrics(new Registry())
  const sweep = createOutboxSweep({
    outbox,
    queue: { add },
    metrics,
    logger,
    clock: () => NOW,
    minimumAgeMs: 5_000,
  })
  return { sweep, add, logger, metrics }
}

describe('sweeping the outbox', () => {
  it('queues all that was left behind, however much it is', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => aRow(`row-${index}`))
    const { sweep, add } = aSweep(rows)
    expect(await sweep()).toBe(250)
    expect(add).toHaveBeenCalledTimes(250)
    expect(rows).toEqual([])
  })

  it('leaves young rows to their writer', async () => {
    const { sweep, add } = aSweep([aRow('young', { createdAt: new Date(NOW - 4_000) })])
    expect(await sweep()).toBe(0)
    expect(add).not.toHaveBeenCalled()
  })

  it('drops an expired row and counts it', async () => {
    const rows = [aRow('old', { expiresAt: new Date(NOW) })]
    const { sweep, add, metrics } = aSweep(rows)
    await sweep()
    expect(add).not.toHaveBeenCalled()
    expect(rows).toEqual([])
    expect((await metrics.expired.get()).values[0]?.value).toBe(1)
  })

  it('keeps the row while the queue is away', async () => {
    const rows = [aRow('kept')]
    const { sweep } = aSweep(
      rows,
      vi.fn(() => Promise.reject(new Error('away'))),
    )
    await expect(sweep()).rejects.toThrow('away')
    expect(rows).toHaveLength(1)
  })

  it('does not stumble over a row that cannot be read', async () => {
    const rows = [aRow('broken', { payload: '{' }), aRow('good')]
    const { sweep, add, logger } = aSweep(rows)
    expect(await sweep()).toBe(1)
    expect(add).toHaveBeenCalledWith('good', job)
    expect(logger.error).toHaveBeenCalledOnce()
  })
})
