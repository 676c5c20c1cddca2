import { describe, expect, it, vi } from 'vitest'
import { createMailDispatcher } from './dispatch-mail.ts'

const job = { to: 'a@example.com', subject: '', template: 't', language: 'en', variables: 'x', expiresAt: '' }

describe('dispatching a mail', () => {
  it('marks the row as dispatched only after the queue has it, and keeps it', async () => {
    const calls: string[] = []
    const queue = { add: async () => void calls.push('add') }
    const outbox = {
      markDispatched: async () => void calls.push('mark'),
      remove: async () => calls.push('remove') > 0,
    }
    const dispatcher = createMailDispatcher({ outbox, queue })
    dispatcher.dispatch('id', job)
    await dispatcher.close()
    expect(calls).toEqual(['add', 'mark'])
  })

  it('leaves the row to the sweep when the queue is unavailable, and throws nothing', async () => {
    const outbox = { markDispatched: vi.fn(), remove: vi.fn() }
    const queue = { add: () => Promise.reject(new Error('unavailable')) }
    const onError = vi.fn()
    const dispatcher = createMailDispatcher({ outbox, queue, onError })
    dispatcher.dispatch('id', job)
    await dispatcher.close()
    expect(outbox.markDispatched).not.toHaveBeenCalled()
    expect(outbox.remove).not.toHaveBeenCalled()
    expect(onError).toHaveBeenCalledExactlyOnceWith(new Error('unavailable'), 'id')
  })

  it('leaves a decoy to the sweep while the database is unavailable, and throws nothing', async () => {
    const outbox = { markDispatched: vi.fn(), remove: vi.fn(() => Promise.reject(new Error('unavailable'))) }
    const dispatcher = createMailDispatcher({ outbox, queue: { add: vi.fn() }, maxDelayMs: 0 })
    dispatcher.discard('decoy')
    await expect(dispatcher.close()).resolves.toBeUndefined()
    expect(outbox.remove).toHaveBeenCalledOnce()
  })

  it('needs no one to tell of an error', async () => {
    const outbox = { markDispatched: vi.fn(), remove: vi.fn() }
    const queue = { add: () => Promise.reject(new Error('unavailable')) }
    const dispatcher = createMailDispatcher({ outbox, queue, maxDelayMs: 0 })
    dispatcher.dispatch('id', job)
    await expect(dispatcher.close()).resolves.toBeUndefined()
  })

  it('does nothing for a mail or a decoy before the request is answered', async () => {
    const outbox = { markDispatched: vi.fn(async () => undefined), remove: vi.fn(async () => true) }
    const queue = { add: vi.fn(async () => undefined) }
    const dispatcher = createMailDispatcher({ outbox, queue, maxDelayMs: 3_600_000 })
    dispatcher.dispatch('mail', job)
    dispatcher.discard('decoy')
    // A timer of a millisecond, which is the shortest, fires before this one.
    await new Promise((resolve) => setTimeout(resolve, 2))
    expect(queue.add).not.toHaveBeenCalled()
    expect(outbox.remove).not.toHaveBeenCalled()
    await dispatcher.close()
    expect(queue.add).toHaveBeenCalledExactlyOnceWith('mail', job)
    expect(outbox.remove).toHaveBeenCalledExactlyOnceWith('decoy')
  })

  it('leaves what exceeds its bound to the sweep while the queue hangs, and takes mail again afterwards', async () => {
    const outbox = { markDispatched: vi.fn(async () => undefined), remove: vi.fn(async () => true) }
    const hanging = Promise.withResolvers<void>()
    const queue = { add: vi.fn(() => hanging.promise) }
    const dispatcher = createMailDispatcher({ outbox, queue, maxDelayMs: 0 })
    for (let each = 0; each < 1_000 + 5; each++) dispatcher.dispatch(`mail-${each}`, job)
    await vi.waitFor(() => expect(queue.add).toHaveBeenCalledTimes(1_000))
    hanging.resolve()
    await vi.waitFor(() => expect(outbox.markDispatched).toHaveBeenCalledTimes(1_000))
    await vi.waitFor(() => {
      dispatcher.discard('decoy')
      expect(outbox.remove).toHaveBeenCalled()
    })
    await dispatcher.close()
  })
})
