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

/** Of a session that is always busy. */
async function anInterrupter() {
  const session = { opened: Promise.resolve(), interrupt: vi.fn(), kill: vi.fn() }
  const interrupter = createInterrupter(Promise.resolve(session), () => true)
  // Until it knows that the session is open.
  await vi.advanceTimersByTimeAsync(0)
  return { ...interrupter, session }
}

it('says of a statement that goes on after Ctrl-C how to stop it, and kills it at the second', async () => {
  const { interrupt, session } = await anInterrupter()
  interrupt()
  expect(session.interrupt).toHaveBeenCalledOnce()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS)
  expect(process.stderr.write).toHaveBeenCalledExactlyOnceWith(
    '(still running; Ctrl-C again stops it by force)\n',
  )
  interrupt()
  expect(session.kill).toHaveBeenCalledOnce()
})

it('says nothing of the next statement, which was interrupted later', async () => {
  const { interrupt, reset } = await anInterrupter()
  interrupt()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS / 2)
  reset()
  interrupt()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS / 2)
  expect(process.stderr.write).not.toHaveBeenCalled()
})

it('says nothing of a statement that the second Ctrl-C has killed', async () => {
  const { interrupt } = await anInterrupter()
  interrupt()
  interrupt()
  vi.advanceTimersByTime(AFTER_A_WHILE_MS)
  expect(process.stderr.write).not.toHaveBeenCalled()
})
