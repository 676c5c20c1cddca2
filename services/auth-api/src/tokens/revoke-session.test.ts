import { expect, it } from 'vitest'
import { createRevokeSession } from './revoke-session.ts'

it.each([
  { what: 'of this token', exp: 4_600, lastExpiry: 4_600 },
  { what: 'of one that was issued at the same time', exp: 2_000, lastExpiry: 3_100 },
])('the end of a session is kept until the last expiry, $what', async ({ exp, lastExpiry }) => {
  const revoked: unknown[] = []
  const revokeSession = createRevokeSession({
    revocations: { revokeSession: async (...given) => void revoked.push(given) },
    lifetimeSeconds: 1_000,
    localNow: () => 2_100_999,
  })
  await revokeSession('the id', exp)
  expect(revoked).toEqual([['the id', new Date(2_100_999), new Date(lastExpiry * 1000)]])
})
