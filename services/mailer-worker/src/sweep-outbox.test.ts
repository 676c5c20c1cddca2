import type { DueQuery, OutboxEntry } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { aMailJob } from '@latchkey/shared/mail/queue/test/a-mail-job.ts'
import { Counter } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
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

function aSweep(rows: OutboxEntry[], add = vi.fn(async (_id: string): Promise<void> => undefined)) {
  const logger = { error: vi.fn(), warn: vi.fn() }
  const queued = new Set<string>()
  const has = vi.fn(async (id: string) => queued.has(id))
  const state = { now: NOW, searches: 0 }
  const find = async (lastSeen: (row: OutboxEntry) => Date | undefined, query: DueQuery) => {
    if (++state.searches > 20) throw new Error('The sweep does not end')
    const isDue = (row: OutboxEntry) => (lastSeen(row) ?? new Date(Infinity)) < query.before
    return rows.filter(isDue).slice(query.offset, query.offset + query.limit)
  }
  const outbox = {
    findLeftBehind: (query: DueQuery) =>
      find(({ createdAt, dispatchedAt }) => (dispatchedAt ? undefined : createdAt), query),
    findToRecheck: (query: DueQuery) => find(({ dispatchedAt }) => dispatchedAt, query),
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
  const sweepOnce = createOutboxSweep({
    outbox,
    queue: { add, has },
    metrics,
    logger,
    localNow: () => state.now,
    minimumAgeMs: 5_000,
    recheckMs: 30_000,
  })
  const count = async (name: 'expired' | 'swept' | 'restored') =>
    (await metrics[name].get()).values[0]?.value ?? 0
  const sweep = (signal = new AbortController().signal) => sweepOnce(signal)
  return { sweep, add, has, state, logger, queued, count }
}

describe('sweeping the outbox', () => {
  it('adds every mail that was left behind, in several batches', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => aRow(`row-${index}`))
    const { sweep, add, logger } = aSweep(rows)
    await sweep()
    expect(add).toHaveBeenCalledTimes(250)
    expect(logger.warn).not.toHaveBeenCalled()
    await sweep()
    expect(add).toHaveBeenCalledTimes(250)
    expect(rows).toHaveLength(250)
  })

  it('deletes the row of a mail that failed once it has expired, and counts it as nothing else', async () => {
    const expiresAt = new Date(NOW)
    const rows = [aRow('failed', { expiresAt, dispatchedAt: expiresAt })]
    const { sweep, add, count, state, logger } = aSweep(rows)
    await sweep()
    expect(rows).toHaveLength(1)
    state.now += 30_001
    await sweep()
    expect(rows).toEqual([])
    expect(add).not.toHaveBeenCalled()
    expect(await count('expired')).toBe(0)
    expect(logger.warn).not.toHaveBeenCalled()
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

  it('marks what the queue took of a batch before it was unavailable', async () => {
    const rows = [aRow('taken'), aRow('refused')]
    const add = vi.fn(async (id: string) => {
      if (id === 'refused') throw new Error('unavailable')
    })
    const { sweep, count } = aSweep(rows, add)
    await expect(sweep()).rejects.toThrow('unavailable')
    expect(rows.map(({ dispatchedAt }) => dispatchedAt?.getTime())).toEqual([NOW, undefined])
    expect(await count('swept')).toBe(1)
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
    await sweep()
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith({ mailId: 'lost' }, expect.any(String))
    expect(add.mock.calls.map(([id]) => id)).toEqual(['lost'])
    expect([await count('restored'), await count('swept')]).toEqual([1, 0])
    expect(rows.map(({ dispatchedAt }) => dispatchedAt?.getTime())).toEqual([NOW, NOW])
  })

  it('ends, though what it checked first is due again before the last', async () => {
    const before = new Date(NOW - 30_001)
    const rows = Array.from({ length: 250 }, (_, index) => aRow(`row-${index}`, { dispatchedAt: before }))
    const { sweep, has, state, queued } = aSweep(rows)
    for (const { id } of rows) queued.add(id)
    has.mockImplementation(async () => {
      state.now += 1_000
      for (const row of rows) row.expiresAt = new Date(state.now + 1)
      return true
    })
    await sweep()
    expect(has).toHaveBeenCalledTimes(250)
  })

  it('adds mail that the queue never had between two batches of other mail', async () => {
    const before = new Date(NOW - 30_001)
    const rows = Array.from({ length: 250 }, (_, index) => aRow(`row-${index}`, { dispatchedAt: before }))
    const { sweep, add, has } = aSweep(rows)
    has.mockImplementation(async (id) => {
      if (id === 'row-0') rows.push(aRow('new'))
      return true
    })
    add.mockImplementation(async () => void expect(has).toHaveBeenCalledTimes(100))
    await sweep()
    expect(add.mock.calls.map(([id]) => id)).toEqual(['new'])
    expect(has).toHaveBeenCalledTimes(250)
  })

  it('ends after the batch in which it is told to stop', async () => {
    const { sweep, add } = aSweep(Array.from({ length: 250 }, (_, index) => aRow(`row-${index}`)))
    const stopping = new AbortController()
    add.mockImplementationOnce(async () => stopping.abort())
    await sweep(stopping.signal)
    expect(add).toHaveBeenCalledTimes(100)
  })

  it.each([1, 100, 250])('is not stopped by unreadable rows before the readable ones: %i', async (count) => {
    const broken = Array.from({ length: count }, (_, index) => aRow(`broken-${index}`, { payload: '{' }))
    const { sweep, add, logger } = aSweep([...broken, aRow('good')])
    await sweep()
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
    await aSweep(rows).sweep()
    expect(rows).toEqual([])
  })
})
