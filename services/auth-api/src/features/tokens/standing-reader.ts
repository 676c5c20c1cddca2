import type { Claims } from './claims.ts'
import type { BriefStanding, RevocationRepository } from './revocation-repository.ts'

interface Waiting {
  claims: Claims
  resolve: (standing: BriefStanding) => void
  reject: (error: unknown) => void
}

/** The most tokens that one statement reads. */
export const MAX_TOKENS = 64
/** Reads at the same time. What arrives meanwhile waits for the first of them to end, and is then read together. */
export const MAX_READS = 2

/**
 * Reads the standing of tokens that arrive at the same time together. Under load each statement then serves many requests;
 * without load it serves one, and no request waits for another.
 */
export function createStandingReader({ findStandings }: Pick<RevocationRepository, 'findStandings'>) {
  const waiting: Waiting[] = []
  let reads = 0

  function readWaiting(): void {
    while (waiting.length > 0 && reads < MAX_READS) void read(waiting.splice(0, MAX_TOKENS))
  }

  async function read(some: readonly Waiting[]): Promise<void> {
    reads++
    try {
      const standings = await findStandings(some.map(({ claims }) => claims))
      for (const [index, { resolve, reject }] of some.entries()) {
        const standing = standings[index]
        if (standing) resolve(standing)
        else reject(new Error('A standing is missing'))
      }
    } catch (error) {
      for (const { reject } of some) reject(error)
    }
    reads--
    readWaiting()
  }

  return {
    findStanding: (claims: Claims): Promise<BriefStanding> =>
      new Promise((resolve, reject) => {
        if (waiting.push({ claims, resolve, reject }) === 1) setImmediate(readWaiting)
      }),
  }
}

export type StandingReader = ReturnType<typeof createStandingReader>
