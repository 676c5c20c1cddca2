import type { Config } from '../../config.ts'
import type { Claims } from '../../tokens/claims.ts'
import type { StoredSession } from './session-repository.ts'

/** `sessionLifetimeSeconds` is the time after the login in which tokens are refreshed; 0 sets no limit. */
export type RefreshLifetimes = Pick<Config['tokens'], 'sessionIdleSeconds' | 'sessionLifetimeSeconds'>

/** Returns the first moment at which a session is too old to be refreshed. */
export const findSessionEnd = (
  { createdAt }: Pick<StoredSession, 'createdAt'>,
  { sessionLifetimeSeconds }: Pick<RefreshLifetimes, 'sessionLifetimeSeconds'>,
): number =>
  sessionLifetimeSeconds > 0 ? createdAt.getTime() + sessionLifetimeSeconds * 1000 : Number.POSITIVE_INFINITY

/** Returns when a refresh token that comes with an access token ends, and when the later one of both does. */
export function findRefreshEnd(
  session: Pick<StoredSession, 'createdAt'>,
  { iat, exp }: Pick<Claims, 'iat' | 'exp'>,
  lifetimes: RefreshLifetimes,
): { refreshUntil: Date; storedUntil: Date } {
  // A client that refreshes when its access token expires must find its refresh token alive.
  const idleEnd = Math.max((iat + lifetimes.sessionIdleSeconds) * 1000, exp * 1000)
  const refreshUntil = Math.min(idleEnd, findSessionEnd(session, lifetimes))
  return { refreshUntil: new Date(refreshUntil), storedUntil: new Date(Math.max(refreshUntil, exp * 1000)) }
}
