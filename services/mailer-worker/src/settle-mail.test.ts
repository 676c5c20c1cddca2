import { randomUUID } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { createSettlement } from './settle-mail.ts'

/** A settlement over an outbox that holds these mails. */
function settlementOf(...ids: string[]) {
  const rows = new Set(ids)
  const outbox = {
    has: vi.fn(async (id: string) => rows.has(id)),
    remove: vi.fn(async (id: string) => rows.delete(id)),
    markFailed: vi.fn(async (id: string) => Number(rows.has(id))),
  }
  const warn = vi.fn()
  return { rows, outbox, warn, settlement: createSettlement({ outbox, logger: { warn } }) }
}

describe('a mail', () => {
  it('that was added by hand has no row, and is never settled before it is sent', async () => {
    const { settlement, outbox } = settlementOf()
    expect(await settlement.isSettled('by-hand')).toBe(false)
    expect(await settlement.settle('by-hand')).toBe(true)
    await settlement.keepFailed('by-hand')
    expect(outbox.has).not.toHaveBeenCalled()
    expect(outbox.markFailed).not.toHaveBeenCalled()
    expect(outbox.remove).not.toHaveBeenCalled()
  })

  it('that failed keeps its row, for an admin who retries it', async () => {
    const id = randomUUID()
    const { settlement, outbox } = settlementOf(id)
    outbox.markFailed.mockRejectedValueOnce(new Error('the database is unavailable'))
    await settlement.keepFailed(id)
    await settlement.settlePending()
    expect(outbox.markFailed).toHaveBeenCalledTimes(2)
    expect(await settlement.isSettled(id)).toBe(false)
    expect(await settlement.settle(id)).toBe(true)
    expect(await settlement.isSettled(id)).toBe(true)
  })

  it('whose row cannot be deleted is settled later, once', async () => {
    const id = randomUUID()
    const { settlement, outbox, rows, warn } = settlementOf(id)
    const failure = new Error('the database is unavailable')
    outbox.remove.mockRejectedValueOnce(failure)
    expect(await settlement.settle(id)).toBe(false)
    expect(warn).toHaveBeenCalledWith({ reason: failure.message, mailId: id }, expect.any(String))
    outbox.remove.mockRejectedValueOnce(failure)
    await expect(settlement.settlePending()).rejects.toBe(failure)
    await settlement.settlePending()
    expect(rows.size).toBe(0)
    await settlement.settlePending()
    expect(outbox.remove).toHaveBeenCalledTimes(3)
  })
})
