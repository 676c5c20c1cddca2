import { expect, it } from 'vitest'
import { createEndSession } from './end-session.ts'

it.each([
  { what: 'of this token', exp: 4_600, lastExpiry: 4_600 },
  { what: 'of one that was issued at the same time', exp: 2_000, lastExpiry: 3_100 },
])('the end of a session is kept until the last expiry, $what', async ({ exp, lastExpiry }) => {
  const ended: unknown[] = []
  const endSession = createEndSession({
    revocations: { endSession: async (...given) => void ended.push(given) },
    lifetimeSeconds: 1_000,
    clock: () => 2_100_999,
  })
  await endSession('the id', exp)
  expect(ended).toEqual([['the id', new Date(2_100_999), new Date(lastExpiry * 1000)]])
})
