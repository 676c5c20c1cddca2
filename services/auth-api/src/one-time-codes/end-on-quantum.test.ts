import { setImmediate } from 'node:timers/promises'
import { AppError } from '@latchkey/shared/app-error.ts'
import { expect, it } from 'vitest'
import { endOnQuantum, refuseOnQuantum } from './end-on-quantum.ts'

const REFUSAL = new AppError('invalid_credentials', 'wrong')
const refuse = () => Promise.reject(REFUSAL)
const succeed = async () => 'a token'

/** Whether `work` settles in this turn of the event loop. */
function settlesAtOnce(work: () => Promise<unknown>): Promise<boolean> {
  const settled = work().then(
    () => true,
    () => true,
  )
  return Promise.race([settled, setImmediate(false)])
}

async function durationOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work().catch(() => undefined)
  return performance.now() - start
}

/** Less than the quantum, by what a timer may be early. */
const ALMOST_QUANTUM_MS = 23

it.each([
  { what: 'a result', work: () => endOnQuantum(succeed) },
  { what: 'a failure', work: () => endOnQuantum(() => Promise.reject(new Error('failed'))) },
  { what: 'a refusal', work: () => refuseOnQuantum('invalid_credentials', refuse) },
])('delays $what to the quantum', async ({ work }) => {
  expect(await settlesAtOnce(work)).toBe(false)
  expect(await durationOf(work)).toBeGreaterThan(ALMOST_QUANTUM_MS)
})

it.each([
  { what: 'a result', work: succeed },
  { what: 'another refusal', work: () => Promise.reject(new AppError('overloaded', 'busy')) },
  { what: 'a fault', work: () => Promise.reject(new Error('failed')) },
])('delays refusals only, not $what', async ({ work }) => {
  expect(await settlesAtOnce(() => refuseOnQuantum('invalid_credentials', work))).toBe(true)
})

it('passes on the result and the refusal', async () => {
  expect(await refuseOnQuantum('invalid_credentials', succeed)).toBe('a token')
  await expect(refuseOnQuantum('invalid_credentials', refuse)).rejects.toBe(REFUSAL)
})
