import { Counter } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import type { OutboxEntry } from './outbox-repository.ts'
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
  const outbox = {
    findDue: async (writtenBefore: Date, dispatchedBefore: Date) =>
      rows
        .filter(({ createdAt, dispatchedAt }) =>
          dispatchedAt ? dispatchedAt < dispatchedBefore : createdAt < writtenBefore,
        )
        .slice(0, 100),
    markDispatched: async (id: string, now: Date) => {
      const row = rows.find((each) => each.id === id)
      if (row) row.dispatchedAt = now
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
  it('queues all that was left behind, however much it is', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => aRow(`row-${index}`))
    const { sweep, add } = aSweep(rows)
    expect(await sweep()).toBe(250)
    expect(add).toHaveBeenCalledTimes(250)
    expect(await sweep()).toBe(0)
    expect(rows).toHaveLength(250)
  })

  it('leaves young rows to their writer', async () => {
    const { sweep, add } = aSweep([aRow('young', { createdAt: new Date(NOW - 4_000) })])
    expect(await sweep()).toBe(0)
    expect(add).not.toHaveBeenCalled()
  })

  it('drops an expired row and counts it', async () => {
    const rows = [aRow('old', { expiresAt: new Date(NOW) })]
    const { sweep, add, count } = aSweep(rows)
    await sweep()
    expect(add).not.toHaveBeenCalled()
    expect(rows).toEqual([])
    expect(await count('expired')).toBe(1)
  })

  it('keeps the row while the queue is away', async () => {
    const rows = [aRow('kept')]
    const { sweep } = aSweep(
      rows,
      vi.fn(() => Promise.reject(new Error('away'))),
    )
    await expect(sweep()).rejects.toThrow('away')
    expect(rows).toMatchObject([{ id: 'kept', dispatchedAt: undefined }])
  })

  it('puts back what the queue has lost, and leaves alone what it has', async () => {
    const before = new Date(NOW - 30_001)
    const rows = [aRow('lost', { dispatchedAt: before }), aRow('queued', { dispatchedAt: before })]
    const { sweep, add, queued, count } = aSweep(rows)
    queued.add('queued')
    expect(await sweep()).toBe(2)
    expect(add.mock.calls.map(([id]) => id)).toEqual(['lost'])
    expect([await count('restored'), await count('swept')]).toEqual([1, 0])
    expect(rows.map(({ dispatchedAt }) => dispatchedAt?.getTime())).toEqual([NOW, NOW])
  })

  it('does not ask the queue for a mail it was seen to have a moment ago', async () => {
    const { sweep, add } = aSweep([aRow('seen', { dispatchedAt: new Date(NOW - 29_000) })])
    expect(await sweep()).toBe(0)
    expect(add).not.toHaveBeenCalled()
  })

  it('does not stumble over a row that cannot be read', async () => {
    const rows = [aRow('broken', { payload: '{' }), aRow('good')]
    const { sweep, add, logger } = aSweep(rows)
    expect(await sweep()).toBe(1)
    expect(add).toHaveBeenCalledWith('good', job)
    expect(logger.error).toHaveBeenCalledOnce()
  })
})
