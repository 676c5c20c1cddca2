import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createInterrupter } from './interrupter.ts'

const AFTER_A_WHILE_MS = 1_000

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const aSession = () => ({ interrupt: vi.fn(), kill: vi.fn() })

it('says how to stop a statement that still runs', () => {
  const notify = vi.fn()
  createInterrupter(aSession(), notify).interrupt()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS)
  expect(notify.mock.calls).toEqual([['(still running; Ctrl-C again stops it by force)']])
})

it('says nothing of a statement that has ended, or that the second Ctrl-C has killed', () => {
  const notify = vi.fn()
  const [ended, killed] = [createInterrupter(aSession(), notify), createInterrupter(aSession(), notify)]
  ended.interrupt()
  ended.end()
  killed.interrupt()
  killed.interrupt()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS)
  expect(notify).not.toHaveBeenCalled()
})
