import type { Claims } from './claims.ts'
import type { RevocationRepository, TokenStanding } from './revocation-repository.ts'

interface Waiting {
  claims: Claims
  resolve: (standing: TokenStanding | Promise<TokenStanding>) => void
}

/** The most tokens that one statement reads. */
export const MAX_TOKENS = 64

/**
 * Reads the standing of tokens that arrive in the same turn of the event loop together. Under load each statement then
 * serves many requests; without load it serves one, and no request waits for another.
 */
export function createStandingReader({ findStandings }: Pick<RevocationRepository, 'findStandings'>) {
  let waiting: Waiting[] = []

  function readAll(): void {
    const taken = waiting
    waiting = []
    for (let begin = 0; begin < taken.length; begin += MAX_TOKENS)
      read(taken.slice(begin, begin + MAX_TOKENS))
  }

  function read(some: readonly Waiting[]): void {
    const standings = findStandings(some.map(({ claims }) => claims))
    for (const [index, { resolve }] of some.entries())
      resolve(standings.then((all) => all[index] ?? Promise.reject(new Error('A standing is missing'))))
  }

  return {
    findStanding: (claims: Claims): Promise<TokenStanding> =>
      new Promise((resolve) => {
        if (waiting.push({ claims, resolve }) === 1) setImmediate(readAll)
      }),
  }
}
