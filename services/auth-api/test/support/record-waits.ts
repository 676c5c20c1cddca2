import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'

/** Records the waits that are requested until the test ends, in milliseconds. */
export function recordWaits(): number[] {
  const waits: number[] = []
  const { setTimeout: wait } = timers
  const spy = vi.spyOn(timers, 'setTimeout').mockImplementation((ms, ...options) => {
    waits.push(ms ?? 0)
    return wait(ms, ...options)
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
  return waits
}
