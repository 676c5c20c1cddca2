import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock, MonotonicClock } from '@latchkey/shared/clock.ts'
import { isAfterMark, roleOf, type User } from '@latchkey/shared/users/user.ts'
import { LRUCache } from 'lru-cache'
import type { RequestAudit } from '../../audit/request-audit.ts'
import { boundedTo } from '../../bounded-cache.ts'
import type { Caller } from './caller.ts'
import type { Claims } from './claims.ts'
import type { BriefStanding, RevocationRepository, TokenStanding } from './revocation-repository.ts'
import type { StandingReader } from './standing-reader.ts'

export interface TokenValidityOptions {
  standings: StandingReader
  /** Receives a token that was used after it had been refreshed: two clients have it, and one of them may be a thief. */
  endReused: (caller: Caller) => Promise<void>
  /** How long a token's mark is remembered, in seconds. 0 reads it for each request. */
  cacheSeconds: number
  clock: Clock
  /** Not the wall clock: set back, it would prolong what is remembered. */
  monotonic: MonotonicClock
  /** Tokens remembered at most. */
  maxTokens?: number
}

export type TokenValidity = ReturnType<typeof createTokenValidity>

/** What is remembered of a token. */
interface Mark extends Pick<TokenStanding, 'refreshedUntil'> {
  /** Its user exists, its session has not ended, and the valid-from mark leaves it valid. */
  isValid: boolean
  role: string
  /** By the monotonic clock. */
  readAt: number
}

/**
 * Checks that a signed token has not been revoked: its user exists, its session has not ended, and it was issued after
 * the user's valid-from mark. A token that was refreshed is refused after a grace, and its use then ends its session.
 * Gives its claims with the role that the user has now, which is the one that a route's required role is compared with.
 * Reads a token's mark at most once per `cacheSeconds`, however many requests need it at the same time.
 */
export function createTokenValidity({
  standings,
  endReused,
  cacheSeconds,
  clock,
  monotonic,
  maxTokens = 50_000,
}: TokenValidityOptions) {
  const marks = new LRUCache<string, Mark>(boundedTo(maxTokens))
  const pending = new Map<string, Promise<Mark>>()
  const checks = { memory: 0, database: 0 }

  function recallMark({ jti }: Claims): Mark | undefined {
    const mark = cacheSeconds > 0 ? marks.get(jti) : undefined
    return mark && monotonic() - mark.readAt <= cacheSeconds * 1000 ? mark : undefined
  }

  /** Joins the read of the same token that is in flight. */
  function readMark(claims: Claims): Promise<Mark> {
    const { jti } = claims
    const begun = pending.get(jti)
    if (begun) return begun
    const readAt = monotonic()
    const isPending = () => pending.get(jti) === reading
    const reading = standings
      .findStanding(claims)
      .then((standing) => {
        const mark = toMark(standing, claims, readAt)
        // What was read before `forget` is not remembered.
        if (isPending()) marks.set(jti, mark)
        return mark
      })
      .finally(() => isPending() && pending.delete(jti))
    pending.set(jti, reading)
    return reading
  }

  function forget({ jti }: Claims): void {
    marks.delete(jti)
    pending.delete(jti)
  }

  return {
    /** Checks so far. */
    checks: (): Readonly<typeof checks> => checks,

    /** The current claims, `revoked`, or undefined when that takes a query. */
    recall(claims: Claims): Claims | 'revoked' | undefined {
      const mark = recallMark(claims)
      if (!mark) return undefined
      checks.memory++
      const current = currentClaims(claims, mark)
      if (!current) return 'revoked'
      return isReused(mark, clock()) ? undefined : current
    },

    /** The current claims; throws `invalid_token` when the user does not exist or the token was revoked. */
    async check(claims: Claims, audit: RequestAudit): Promise<Claims> {
      checks.database++
      const mark = recallMark(claims) ?? (await readMark(claims))
      const current = currentClaims(claims, mark)
      if (!current) throw revokedToken()
      if (!isReused(mark, clock())) return current
      await endReused({ claims, audit })
      forget(claims)
      throw revokedToken()
    },

    /** Reads the token again at its next request. */
    forget,
  }
}

export const revokedToken = () => new AppError('invalid_token', 'The token was revoked')

/** Whether a token is used after the grace that followed its refresh. */
export const isReused = ({ refreshedUntil }: Pick<TokenStanding, 'refreshedUntil'>, now: number): boolean =>
  refreshedUntil !== undefined && now >= refreshedUntil.getTime()

/** Whether the user of a token exists, its session has not ended, and it was issued after the user's valid-from mark. */
export const isCurrent = <Standing extends BriefStanding>(
  standing: Standing,
  claims: Claims,
): standing is Standing & { user: NonNullable<Standing['user']> } =>
  !standing.hasSessionEnded &&
  standing.user !== undefined &&
  !standing.user.deletedAt &&
  isAfterMark(standing.user, claims)

/** The user of a token, as both are in the database now; throws `invalid_token` when the token has ended. */
export async function requireValid(
  revocations: Pick<RevocationRepository, 'findStanding'>,
  claims: Claims,
  now: number,
): Promise<User> {
  const standing = await revocations.findStanding(claims)
  if (!isCurrent(standing, claims) || isReused(standing, now)) throw revokedToken()
  return standing.user
}

/** Undefined for a revoked token. */
function currentClaims(claims: Claims, { isValid, role }: Mark): Claims | undefined {
  if (!isValid) return undefined
  return claims.data.role === role ? claims : { ...claims, data: { ...claims.data, role } }
}

const toMark = (standing: BriefStanding, claims: Claims, readAt: number): Mark => ({
  readAt,
  isValid: isCurrent(standing, claims),
  role: standing.user ? roleOf(standing.user) : '',
  refreshedUntil: standing.refreshedUntil,
})
