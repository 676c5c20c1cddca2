import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import { factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Core } from '../../core.ts'
import type { SessionCaller } from '../../tokens/claims.ts'
import { currentAmr } from '../../tokens/current-amr.ts'
import type { IssuedLogin } from '../../tokens/issue-token.ts'
import {
  isRefreshToken,
  nextRefreshToken,
  pairOf,
  type RefreshForm,
  refreshHashOf,
  sidOf,
} from '../../tokens/refresh-token.ts'
import { sessionIdOf } from '../../tokens/revocation-repository.ts'
import { GRACE_MS } from '../../tokens/token-pair.ts'
import { isCurrent, revokedToken } from '../../tokens/token-validity.ts'
import { findRefreshEnd, findSessionEnd, type RefreshLifetimes } from './refresh-end.ts'
import { createSessionRepository, type LastingSession } from './session-repository.ts'
import { toSession } from './store-session.ts'

type ExchangeCore = Pick<
  Core,
  'db' | 'revocations' | 'revokeReusedSession' | 'signToken' | 'localNow' | 'sharedNow'
>

/** Requests with one token take turns; each finds the session as the one before has left it. */
const MAX_TURNS = 10

/**
 * Exchanges a refresh token for the next one and an access token, with the user's current name and role. That can be repeated until
 * the next one is used, and in a grace after that; later it ends the session, since two clients have the token. Throws
 * `invalid_token`.
 */
export function createExchangeRefreshToken(core: ExchangeCore, lifetimes: RefreshLifetimes) {
  const { db, revocations, revokeReusedSession, signToken, localNow, sharedNow } = core
  const sessions = createSessionRepository(db)

  /** Resolves with undefined where another request was faster. */
  async function exchange(
    token: string,
    form: RefreshForm,
    audit: RequestAudit,
  ): Promise<IssuedLogin | undefined> {
    const session = await findLastingSession(core, token)
    const { refresh } = session
    const readAt = toNumericDate(localNow())
    const claims = claimsOf(session, token)
    const status = await revocations.findStatus(claims)
    if (!isCurrent(status, claims)) throw revokedToken()
    if (localNow() >= findSessionEnd(session, lifetimes)) throw endedSession()
    const newest = findNewest(token, refresh, sharedNow())
    if (newest === undefined) {
      await revokeReusedSession({ claims, audit })
      throw revokedToken()
    }
    const hash = refreshHashOf(newest)
    const { issued, claims: next } = await signToken(status.user, readAt, {
      sid: claims.sid,
      authTime: toNumericDate(session.authTime.getTime()),
      amr: currentAmr(session.amr && [...session.amr], factorKindsOf(status.user).length > 0),
      jti: pairOf(hash),
    })
    const { refreshUntil, storedUntil } = findRefreshEnd(session, next, lifetimes)
    const stored = { ...toSession(next, audit), expiresAt: storedUntil, refresh: { ...refresh, hash } }
    if (!(await sessions.exchange(stored, refresh.hash, new Date(sharedNow())))) return undefined
    audit.report({ name: 'token.refreshed', userid: session.userid })
    return { ...issued, refresh: { token: newest, expiresAt: refreshUntil, form } }
  }

  return async (token: string, form: RefreshForm, audit: RequestAudit): Promise<IssuedLogin> => {
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      const exchanged = await exchange(token, form, audit)
      if (exchanged) return exchanged
    }
    throw new AppError('unavailable', 'Too many requests refresh this session', { retryAfterSeconds: 1 })
  }
}

/**
 * Returns the refresh token to go on with after `token`: the next one, or the newest one where `token` may be repeated. Undefined
 * where `token` was replaced by one that was used: two clients have it.
 */
function findNewest(
  token: string,
  { hash, salt, usedAt, previousUsedAt }: LastingSession['refresh'],
  now: number,
): string | undefined {
  const isInGrace = (end: Date | undefined) => end === undefined || now < end.getTime() + GRACE_MS
  const next = nextRefreshToken(token, salt)
  if (refreshHashOf(token) === hash) return next
  if (refreshHashOf(next) === hash) return isInGrace(usedAt) ? next : undefined
  // The one after it was refreshed already, in the grace of this one.
  const newest = nextRefreshToken(next, salt)
  return refreshHashOf(newest) === hash && isInGrace(previousUsedAt) ? newest : undefined
}

/** Finds the session of a refresh token, whichever of its tokens it is. Throws `invalid_token`. */
export async function findLastingSession(
  { db, localNow }: Pick<Core, 'db' | 'localNow'>,
  token: string,
): Promise<LastingSession> {
  if (!isRefreshToken(token)) throw new AppError('invalid_token', 'The refresh token is not valid')
  const session = await createSessionRepository(db).findLasting(sessionIdOf({ sid: sidOf(token) }))
  if (!session || localNow() >= session.expiresAt.getTime()) throw endedSession()
  return session
}

/** Returns the claims of the newest access token of a session, as far as they are known. */
export const claimsOf = (session: LastingSession, token: string): SessionCaller['claims'] => ({
  sub: session.userid,
  sid: sidOf(token),
  jti: session.jti,
  valid_from: session.validFrom,
  exp: toNumericDate(session.expiresAt.getTime()),
})

const endedSession = () => new AppError('invalid_token', 'The session of the refresh token has ended')
