import { setImmediate } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import type { Claims } from './claims.ts'
import { createStandingReader, MAX_READS, MAX_TOKENS } from './standing-reader.ts'

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
  for (let attempt = 0; attempt < MAX_READS; attempt++) {
    const results = await Promise.allSettled(['a', 'b'].map((jti) => findStanding(claimsOf(jti))))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    findStandings.mockRejectedValueOnce(new Error('down again'))
  }
  findStandings.mockReset().mockImplementation(async (all) => all.map(standingOf))
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

it('has two reads in flight at most, and then reads together what has arrived meanwhile', async () => {
  const ends: (() => void)[] = []
  const findStandings = vi.fn(async (all: readonly Claims[]) => {
    await new Promise<void>((resolve) => ends.push(resolve))
    return all.map(standingOf)
  })
  const { findStanding } = createStandingReader({ findStandings })
  const find = async (jti: string) => {
    const standing = findStanding(claimsOf(jti))
    await setImmediate()
    return { standing }
  }
  const begun = []
  for (let index = 0; index < MAX_READS; index++) begun.push(await find(`${index}`))
  const later = [await find('a'), await find('ended')]
  expect(findStandings).toHaveBeenCalledTimes(MAX_READS)

  ends[1]?.()
  await begun[1]?.standing
  expect(findStandings.mock.calls.at(-1)).toEqual([['a', 'ended'].map(claimsOf)])
  for (const end of ends) end()
  const standings = await Promise.all([...begun, ...later].map(({ standing }) => standing))
  expect(standings.map(({ hasSessionEnded }) => hasSessionEnded)).toEqual([false, false, false, true])
  expect(findStandings).toHaveBeenCalledTimes(MAX_READS + 1)
})
