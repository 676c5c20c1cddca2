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

it('says of a statement that goes on after Ctrl-C how to stop it, and kills it at the second', () => {
  const session = aSession()
  const { interrupt, signal } = createInterrupter(session)
  interrupt()
  expect(signal.aborted).toBe(true)
  expect(session.interrupt).toHaveBeenCalledOnce()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS)
  expect(process.stderr.write).toHaveBeenCalledExactlyOnceWith(
    '(still running; Ctrl-C again stops it by force)\n',
  )
  interrupt()
  expect(session.kill).toHaveBeenCalledOnce()
})

it('says nothing of a statement that has ended, or that the second Ctrl-C has killed', () => {
  const [ended, killed] = [createInterrupter(aSession()), createInterrupter(aSession())]
  ended.interrupt()
  ended.end()
  killed.interrupt()
  killed.interrupt()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS)
  expect(process.stderr.write).not.toHaveBeenCalled()
})
