import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import { factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { type Caller, type Claims, successorOf } from '../../tokens/claims.ts'
import { currentAmr } from '../../tokens/current-amr.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { isReplaced } from '../../tokens/token-pair.ts'
import { isCurrent, revokedToken } from '../../tokens/token-validity.ts'

type RefreshCore = Pick<
  Core,
  'revocations' | 'recordUse' | 'revokeReusedSession' | 'issueToken' | 'localNow' | 'sharedNow'
>
/** `sessionLifetimeSeconds` is the time after the login in which tokens are refreshed; 0 sets no limit. */
type RefreshSettings = Pick<Config['tokens'], 'refreshWindowSeconds' | 'sessionLifetimeSeconds'>

/**
 * Exchanges a signed token in its last `refreshWindowSeconds` for a new one of the same session, with the user's current
 * name and role. That can be repeated until the new one is used, and in a grace after that; later it ends the session, since
 * two clients have the token. Throws `token_not_refreshable` before that time, and `invalid_token` when the session is too old
 * or has ended, when the user is deleted, or when the token was revoked.
 */
export function createRefreshToken(core: RefreshCore, settings: RefreshSettings) {
  const { revocations, recordUse, revokeReusedSession, issueToken, localNow, sharedNow } = core

  return async (caller: Caller): Promise<IssuedToken> => {
    const { claims, audit } = caller
    const now = localNow()
    requireInWindow(claims, now, settings)
    // A repeat of the refresh that issued this token may have issued one that expires later, within this time.
    const lastExpiry = new Date((claims.exp + settings.refreshWindowSeconds) * 1000)
    const status = await revocations.storeRefresh(claims, lastExpiry)
    if (!isCurrent(status, claims)) throw revokedToken()
    if (isReplaced(status, sharedNow())) {
      await revokeReusedSession(caller)
      throw revokedToken()
    }
    await recordUse(claims, status)
    audit.report({ name: 'token.refreshed', userid: status.user.userid })
    const { sid, auth_time: authTime, jti } = claims
    const amr = currentAmr(claims.amr, factorKindsOf(status.user).length > 0)
    const session = { sid, authTime, amr, jti: successorOf(jti) }
    return issueToken(status.user, toNumericDate(now), audit, session)
  }
}

function requireInWindow(
  claims: Claims,
  now: number,
  { refreshWindowSeconds, sessionLifetimeSeconds }: RefreshSettings,
): void {
  const sessionEnd = claims.auth_time + sessionLifetimeSeconds
  if (sessionLifetimeSeconds > 0 && now / 1000 >= sessionEnd)
    throw new AppError('invalid_token', 'The session is too old to be refreshed')
  if (claims.exp - now / 1000 > refreshWindowSeconds)
    throw new AppError(
      'token_not_refreshable',
      `A token can be refreshed in its last ${refreshWindowSeconds} seconds`,
    )
}
