import { AppError } from '@latchkey/shared/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { Caller, Claims } from '../../tokens/claims.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'
import type { RevocationRepository } from '../../tokens/revocation-repository.ts'
import { isCurrent, isReused, revokedToken, type TokenValidity } from '../../tokens/token-validity.ts'

export interface RefreshTokenDependencies {
  revocations: Pick<RevocationRepository, 'revokeRefreshed'>
  /** Receives a token that is refreshed again after its grace. */
  revokeReusedSession: (caller: Caller) => Promise<void>
  validity: Pick<TokenValidity, 'forget'>
  issueToken: IssueToken
  refreshWindowSeconds: number
  /** Time after the login in which tokens are refreshed; 0 sets no limit. */
  sessionLifetimeSeconds: number
  clock: Clock
  /** The clock of the database, by which other replicas compare the end of the grace. */
  databaseTime: Clock
}

/** How long a refreshed token stays valid: for requests in flight, and for a second tab that refreshes it too. */
const GRACE_MS = 10_000

/**
 * Exchanges a signed token in its last `refreshWindowSeconds` for a new one of the same session, with the user's current
 * name and role. The old token ends after a grace. Throws `token_not_refreshable` before that time, and `invalid_token`
 * when the session is too old or has ended, when the user is deleted, or when the token was revoked.
 */
export function createRefreshToken(dependencies: RefreshTokenDependencies) {
  const { revocations, revokeReusedSession, validity, issueToken, clock, databaseTime } = dependencies

  return async (caller: Caller): Promise<IssuedToken> => {
    const { claims, audit } = caller
    const now = clock()
    requireInWindow(claims, now, dependencies)
    const status = await revocations.revokeRefreshed(claims, new Date(databaseTime() + GRACE_MS))
    validity.forget(claims)
    if (!isCurrent(status, claims)) throw revokedToken()
    if (isReused(status, databaseTime())) {
      await revokeReusedSession(caller)
      throw revokedToken()
    }
    audit.report({ name: 'token.refreshed', userid: status.user.userid })
    const session = { sid: claims.sid, authTime: claims.auth_time, amr: claims.amr }
    return issueToken(status.user, toNumericDate(now), audit, session)
  }
}

function requireInWindow(
  claims: Claims,
  now: number,
  {
    refreshWindowSeconds,
    sessionLifetimeSeconds,
  }: Pick<RefreshTokenDependencies, 'refreshWindowSeconds' | 'sessionLifetimeSeconds'>,
): void {
  const sessionEnd = claims.auth_time + sessionLifetimeSeconds
  if (sessionLifetimeSeconds > 0 && now / 1000 >= sessionEnd)
    throw new AppError('invalid_token', 'The session is too old to be refreshed; log in again')
  if (claims.exp - now / 1000 > refreshWindowSeconds)
    throw new AppError(
      'token_not_refreshable',
      `A token can be refreshed in its last ${refreshWindowSeconds} seconds; try again then`,
    )
}
