import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { Claims } from './claims.ts'
import type { RevocationRepository } from './revocation-repository.ts'

export interface EndSessionDependencies {
  revocations: Pick<RevocationRepository, 'endSession'>
  /** The lifetime of a token. */
  lifetimeSeconds: number
  clock: Clock
}

export type EndSession = ReturnType<typeof createEndSession>

/** Ends the session of a token: that token, what it was refreshed from and what it was refreshed to. */
export function createEndSession({ revocations, lifetimeSeconds, clock }: EndSessionDependencies) {
  return async (claims: Claims): Promise<void> => {
    const now = clock()
    const lastExpiry = Math.max(claims.exp, toNumericDate(now) + lifetimeSeconds)
    await revocations.endSession(claims, new Date(now), new Date(lastExpiry * 1000))
  }
}
