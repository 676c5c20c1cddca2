import { expect, it, vi } from 'vitest'
import type { Claims } from './claims.ts'
import { createStandingReader, MAX_TOKENS } from './standing-reader.ts'

const claimsOf = (jti: string): Claims => ({
  iss: '',
  sub: jti,
  iat: 0,
  nbf: 0,
  exp: 0,
  jti,
  data: { userid: jti, name: '', role: 'user' },
})

const standingOf = ({ jti }: Claims) => ({
  user: undefined,
  refreshedUntil: undefined,
  hasSessionEnded: jti === 'ended',
})

it('reads what is needed at the same time at once, and gives each token its own standing', async () => {
  const findStandings = vi.fn(async (all: readonly Claims[]) => all.map(standingOf))
  const { findStanding } = createStandingReader({ findStandings })
  const standings = await Promise.all(['a', 'ended', 'b'].map((jti) => findStanding(claimsOf(jti))))
  expect(standings.map(({ hasSessionEnded }) => hasSessionEnded)).toEqual([false, true, false])
  expect(findStandings).toHaveBeenCalledTimes(1)

  await findStanding(claimsOf('later'))
  expect(findStandings).toHaveBeenCalledTimes(2)
})

it('reads at most so many by one statement', async () => {
  const findStandings = vi.fn(async (all: readonly Claims[]) => all.map(standingOf))
  const { findStanding } = createStandingReader({ findStandings })
  const jtis = Array.from({ length: MAX_TOKENS + 1 }, (_, index) =>
    index === MAX_TOKENS ? 'ended' : `${index}`,
  )
  const standings = await Promise.all(jtis.map((jti) => findStanding(claimsOf(jti))))
  expect(standings.findIndex(({ hasSessionEnded }) => hasSessionEnded)).toBe(MAX_TOKENS)
  await Promise.all(jtis.slice(1).map((jti) => findStanding(claimsOf(jti))))
  expect(findStandings.mock.calls.map(([all]) => all.length)).toEqual([MAX_TOKENS, 1, MAX_TOKENS])
})

it('refuses every token of a read that fails, and reads again for the next', async () => {
  const findStandings = vi
    .fn(async (all: readonly Claims[]) => all.map(standingOf))
    .mockRejectedValueOnce(new Error('down'))
  const { findStanding } = createStandingReader({ findStandings })
  const results = await Promise.allSettled(['a', 'b'].map((jti) => findStanding(claimsOf(jti))))
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(findStanding(claimsOf('a'))).resolves.toMatchObject({ hasSessionEnded: false })
})

it('refuses a token whose standing is missing in the answer', async () => {
  const { findStanding } = createStandingReader({
    findStandings: async (all) => all.slice(1).map(standingOf),
  })
  const results = await Promise.allSettled(['a', 'b'].map((jti) => findStanding(claimsOf(jti))))
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: new Error('A standing is missing') },
  ])
})
