import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createInterrupter } from './interrupter.ts'

const AFTER_A_WHILE_MS = 1_000

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const aSession = () => ({ interrupt: vi.fn(), kill: vi.fn() })

it('says nothing of a statement that has ended, or that the second Ctrl-C has killed', () => {
  const [ended, killed] = [createInterrupter(aSession()), createInterrupter(aSession())]
  ended.interrupt()
  ended.end()
  killed.interrupt()
  killed.interrupt()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS)
  expect(process.stderr.write).not.toHaveBeenCalled()
})
