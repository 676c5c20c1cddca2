import { setImmediate } from 'node:timers/promises'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { afterEach, expect, it, vi } from 'vitest'
import { recordWaits } from '../../test/support/record-waits.ts'
import { roundUpDuration, roundUpRefusal } from './round-up-duration.ts'

afterEach(() => vi.restoreAllMocks())

const REFUSAL = new AppError('invalid_credentials', 'wrong')
const refuse = () => Promise.reject(REFUSAL)
const succeed = async () => 'a token'

/** True where `work` settles in this turn of the event loop. */
function settlesAtOnce(work: () => Promise<unknown>): Promise<boolean> {
  const settled = work().then(
    () => true,
    () => true,
  )
  return Promise.race([settled, setImmediate(false)])
}

it.each([
  { what: 'a result', work: () => roundUpDuration(succeed) },
  { what: 'a failure', work: () => roundUpDuration(() => Promise.reject(new Error('failed'))) },
  { what: 'a refusal', work: () => roundUpRefusal('invalid_credentials', refuse) },
])('delays $what to the next step', async ({ work }) => {
  expect(await settlesAtOnce(work)).toBe(false)
  const waits = recordWaits()
  vi.spyOn(performance, 'now').mockReturnValueOnce(1_010).mockReturnValueOnce(1_042)
  await work().catch(() => undefined)
  expect(waits, 'the work took 32 ms, and steps have 25').toEqual([18])
})

it.each([
  { what: 'a result', work: succeed },
  { what: 'another refusal', work: () => Promise.reject(new AppError('overloaded', 'busy')) },
  { what: 'a fault', work: () => Promise.reject(new Error('failed')) },
])('delays refusals only, not $what', async ({ work }) => {
  expect(await settlesAtOnce(() => roundUpRefusal('invalid_credentials', work))).toBe(true)
})

it('passes on the result and the refusal', async () => {
  expect(await roundUpRefusal('invalid_credentials', succeed)).toBe('a token')
  await expect(roundUpRefusal('invalid_credentials', refuse)).rejects.toBe(REFUSAL)
})
