import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { RevocationRepository } from './revocation-repository.ts'

export interface EndSessionDependencies {
  revocations: Pick<RevocationRepository, 'endSession'>
  /** The lifetime of a token. */
  lifetimeSeconds: number
  clock: Clock
}

export type EndSession = ReturnType<typeof createEndSession>

/**
 * Ends a session: every token of its login and of its refreshes. `exp` is when a known one of them expires, in seconds since
 * the epoch.
 */
export function createEndSession({ revocations, lifetimeSeconds, clock }: EndSessionDependencies) {
  return async (id: string, exp: number): Promise<void> => {
    const now = clock()
    const lastExpiry = Math.max(exp, toNumericDate(now) + lifetimeSeconds)
    await revocations.endSession(id, new Date(now), new Date(lastExpiry * 1000))
  }
}
