import { Counter } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { aMailJob } from '../mail-queue/test/a-mail-job.ts'
import type { DueQuery, OutboxEntry } from './outbox-repository.ts'
import { createOutboxSweep } from './sweep-outbox.ts'

const NOW = 1_000_000
const job = aMailJob({ expiresAt: new Date(NOW + 1).toISOString() })
const aRow = (id: string, changes: Partial<OutboxEntry> = {}): OutboxEntry => ({
  id,
  payload: JSON.stringify(job),
  createdAt: new Date(0),
  expiresAt: new Date(NOW + 1),
  dispatchedAt: undefined,
  ...changes,
})

function aSweep(rows: OutboxEntry[], add = vi.fn(async (_id: string) => undefined)) {
  const logger = { error: vi.fn(), warn: vi.fn() }
  const queued = new Set<string>()
  let searches = 0
  const outbox = {
    async findDue({ writtenBefore, dispatchedBefore, limit, offset }: DueQuery) {
      if (++searches > 10) throw new Error('The sweep does not end')
      return rows
        .filter(({ createdAt, dispatchedAt }) =>
          dispatchedAt ? dispatchedAt < dispatchedBefore : createdAt < writtenBefore,
        )
        .slice(offset, offset + limit)
    },
    markDispatched: async (ids: readonly string[], now: Date) => {
      for (const row of rows) if (ids.includes(row.id)) row.dispatchedAt = now
      return ids.length
    },
    remove: async (id: string) => {
      const index = rows.findIndex((row) => row.id === id)
      if (index >= 0) rows.splice(index, 1)
      return index >= 0
    },
  }
  const counter = (name: string) => new Counter({ name, help: name, registers: [] })
  const metrics = { expired: counter('expired'), swept: counter('swept'), restored: counter('restored') }
  const sweep = createOutboxSweep({
    outbox,
    queue: { add, has: async (id) => queued.has(id) },
    metrics,
    logger,
    clock: () => NOW,
    minimumAgeMs: 5_000,
    recheckMs: 30_000,
  })
  const count = async (name: 'expired' | 'swept' | 'restored') =>
    (await metrics[name].get()).values[0]?.value ?? 0
  return { sweep, add, logger, queued, count }
}

describe('sweeping the outbox', () => {
  it('adds every mail that was left behind, in several batches', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => aRow(`row-${index}`))
    const { sweep, add, logger } = aSweep(rows)
    expect(await sweep()).toBe(250)
    expect(add).toHaveBeenCalledTimes(250)
    expect(logger.warn).not.toHaveBeenCalled()
    expect(await sweep()).toBe(0)
    expect(rows).toHaveLength(250)
  })

  it('deletes an expired row and counts it', async () => {
    const rows = [aRow('old', { expiresAt: new Date(NOW) })]
    const { sweep, add, count, logger } = aSweep(rows)
    await sweep()
    expect(add).not.toHaveBeenCalled()
    expect(rows).toEqual([])
    expect(await count('expired')).toBe(1)
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith({ mailId: 'old' }, expect.any(String))
    expect(logger.error).not.toHaveBeenCalled()
  })

  it('keeps the row while the queue is unavailable', async () => {
    const rows = [aRow('kept')]
    const { sweep } = aSweep(
      rows,
      vi.fn(() => Promise.reject(new Error('unavailable'))),
    )
    await expect(sweep()).rejects.toThrow('unavailable')
    expect(rows).toMatchObject([{ id: 'kept', dispatchedAt: undefined }])
  })

  it('adds again what the queue has lost, and nothing that it has', async () => {
    const before = new Date(NOW - 30_001)
    const rows = [aRow('lost', { dispatchedAt: before }), aRow('queued', { dispatchedAt: before })]
    const others = [
      aRow('left to the process that wrote it', { createdAt: new Date(NOW - 4_000) }),
      aRow('checked a moment ago', { dispatchedAt: new Date(NOW - 29_000) }),
    ]
    const { sweep, add, queued, count, logger } = aSweep([...rows, ...others])
    queued.add('queued')
    expect(await sweep()).toBe(2)
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith({ mailId: 'lost' }, expect.any(String))
    expect(add.mock.calls.map(([id]) => id)).toEqual(['lost'])
    expect([await count('restored'), await count('swept')]).toEqual([1, 0])
    expect(rows.map(({ dispatchedAt }) => dispatchedAt?.getTime())).toEqual([NOW, NOW])
  })

  it.each([1, 100, 250])('is not stopped by unreadable rows before the readable ones: %i', async (count) => {
    const broken = Array.from({ length: count }, (_, index) => aRow(`broken-${index}`, { payload: '{' }))
    const { sweep, add, logger } = aSweep([...broken, aRow('good')])
    expect(await sweep()).toBe(1)
    expect(add).toHaveBeenCalledExactlyOnceWith('good', job, new Date(0))
    expect(logger.error).toHaveBeenCalledExactlyOnceWith(
      { count, mailIds: broken.slice(0, 10).map(({ id }) => id) },
      expect.stringContaining('unreadable'),
    )
  })

  it('deletes unreadable rows once they have expired', async () => {
    const rows = Array.from({ length: 200 }, (_, index) =>
      aRow(`${index}`, { payload: '{', expiresAt: new Date(NOW) }),
    )
    expect(await aSweep(rows).sweep()).toBe(200)
    expect(rows).toEqual([])
  })
})
