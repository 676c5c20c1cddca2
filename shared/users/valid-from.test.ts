import { expect, it } from 'vitest'
import { ada } from './test/ada.ts'
import { languageOf, validFromOf } from './user.ts'
import { revokeUserTokens } from './valid-from.ts'

/** A user whose tokens were ended at each of these moments, in milliseconds. */
async function timesAfter(...moments: number[]): Promise<number[]> {
  let user = ada({ properties: [{ name: 'language', value: 'fr' }] })
  const stored: number[] = []
  const users = {
    setProperty: async (_userid: string, _name: string, value: string | null) =>
      void stored.push(Number(value)),
  }
  const times: number[] = []
  for (const now of moments) {
    user = await revokeUserTokens(users, user, now)
    times.push(validFromOf(user))
  }
  expect(stored).toEqual(times)
  expect(languageOf(user)).toBe('fr')
  return times
}

it.each([
  { why: 'the next second', moments: [100_000, 200_999], times: [101, 201] },
  { why: 'another time for the second change in a second', moments: [100_000, 100_500], times: [101, 102] },
  {
    why: 'never earlier, also when the clock was set back',
    moments: [5_000_000, 100_000],
    times: [5_001, 5_002],
  },
])('is $why', async ({ moments, times }) => {
  expect(await timesAfter(...moments)).toEqual(times)
})
