import { describe, expect, it, vi } from 'vitest'
import { createMailDispatcher } from './dispatch-mail.ts'

const job = { to: 'a@example.com', subject: '', template: 't', language: 'en', variables: 'x', expiresAt: '' }

const NOW = Date.parse('2026-01-01T00:00:00.000Z')
const localNow = () => NOW

const anOutbox = () => ({
  markDispatched: vi.fn(async (_ids: readonly string[], _now: Date) => 1),
  removeAll: vi.fn(async (_ids: readonly string[]) => 1),
})
const markedBy = ({ markDispatched }: ReturnType<typeof anOutbox>) =>
  markDispatched.mock.calls.flatMap(([ids]) => ids)

describe('dispatching a mail', () => {
  it('marks the row as dispatched only after the queue has it, and keeps it', async () => {
    const calls: string[] = []
    const queue = { add: async () => void calls.push('add') }
    const outbox = {
      markDispatched: async () => calls.push('mark'),
      removeAll: async () => calls.push('remove'),
    }
    const dispatcher = createMailDispatcher({ outbox, queue, localNow })
    dispatcher.dispatch('id', job)
    await dispatcher.close()
    expect(calls).toEqual(['add', 'mark'])
  })

  it('leaves the row to the sweep when the queue is unavailable, and throws nothing', async () => {
    const outbox = { markDispatched: vi.fn(), removeAll: vi.fn() }
    const queue = { add: () => Promise.reject(new Error('unavailable')) }
    const onError = vi.fn()
    const dispatcher = createMailDispatcher({ outbox, queue, localNow, onError })
    dispatcher.dispatch('id', job)
    await dispatcher.close()
    expect(outbox.markDispatched).not.toHaveBeenCalled()
    expect(outbox.removeAll).not.toHaveBeenCalled()
    expect(onError).toHaveBeenCalledExactlyOnceWith(new Error('unavailable'), 'id')
  })

  it('leaves a decoy to the sweep while the database is unavailable, and throws nothing', async () => {
    const outbox = {
      markDispatched: vi.fn(),
      removeAll: vi.fn(() => Promise.reject(new Error('unavailable'))),
    }
    const dispatcher = createMailDispatcher({ outbox, queue: { add: vi.fn() }, localNow, maxDelayMs: 0 })
    dispatcher.discard('decoy')
    await expect(dispatcher.close()).resolves.toBeUndefined()
    expect(outbox.removeAll).toHaveBeenCalledOnce()
  })

  it('does nothing for a mail or a decoy before the request is answered', async () => {
    const outbox = anOutbox()
    const queue = { add: vi.fn(async () => undefined) }
    const dispatcher = createMailDispatcher({ outbox, queue, localNow, maxDelayMs: 3_600_000 })
    dispatcher.dispatch('mail', job)
    dispatcher.discard('decoy')
    // A timer of a millisecond, which is the shortest, fires before this one.
    await new Promise((resolve) => setTimeout(resolve, 2))
    expect(queue.add).not.toHaveBeenCalled()
    expect(outbox.removeAll).not.toHaveBeenCalled()
    await dispatcher.close()
    expect(queue.add).toHaveBeenCalledExactlyOnceWith('mail', job)
    expect(outbox.removeAll).toHaveBeenCalledExactlyOnceWith(['decoy'])
  })

  it('leaves what exceeds its bound to the sweep while the queue hangs, and takes mail again afterwards', async () => {
    const outbox = anOutbox()
    const hanging = Promise.withResolvers<void>()
    const queue = { add: vi.fn(() => hanging.promise) }
    const dispatcher = createMailDispatcher({ outbox, queue, localNow, maxDelayMs: 0 })
    for (let each = 0; each < 4_000 + 5; each++) dispatcher.dispatch(`mail-${each}`, job)
    await vi.waitFor(() => expect(queue.add).toHaveBeenCalledTimes(4_000))
    hanging.resolve()
    await vi.waitFor(() => expect(markedBy(outbox)).toHaveLength(4_000))
    await vi.waitFor(() => {
      dispatcher.discard('decoy')
      expect(outbox.removeAll).toHaveBeenCalled()
    })
    await dispatcher.close()
  })
})
