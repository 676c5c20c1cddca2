import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { RevocationRepository } from './revocation-repository.ts'

export interface RevokeSessionDependencies {
  revocations: Pick<RevocationRepository, 'revokeSession'>
  /** The lifetime of a token. */
  lifetimeSeconds: number
  localNow: Clock
}

export type RevokeSession = ReturnType<typeof createRevokeSession>

/**
 * Ends a session: every token of its login and of its refreshes. `exp` is when a known one of them expires, in seconds since
 * the epoch.
 */
export function createRevokeSession({ revocations, lifetimeSeconds, localNow }: RevokeSessionDependencies) {
  return async (id: string, exp: number): Promise<void> => {
    const now = localNow()
    const lastExpiry = Math.max(exp, toNumericDate(now) + lifetimeSeconds)
    await revocations.revokeSession(id, new Date(now), new Date(lastExpiry * 1000))
  }
}
