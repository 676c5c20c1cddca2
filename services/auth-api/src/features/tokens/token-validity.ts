import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock, MonotonicClock } from '@latchkey/shared/clock.ts'
import { isAfterMark, roleOf, type User } from '@latchkey/shared/users/user.ts'
import { LRUCache } from 'lru-cache'
import type { RequestAudit } from '../../audit/request-audit.ts'
import { boundedTo } from '../../bounded-cache.ts'
import type { Caller } from './caller.ts'
import type { Claims } from './claims.ts'
import type { RevocationRepository, TokenStanding } from './revocation-repository.ts'

export interface TokenValidityOptions {
  revocations: Pick<RevocationRepository, 'findStanding'>
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
}

/**
 * Checks that a signed token has not been revoked: its user exists, its session has not ended, and it was issued after
 * the user's valid-from mark. A token that was refreshed is refused after a grace, and its use then ends its session.
 * Gives its claims with the role that the user has now, which is the one that a route's required role is compared with.
 * Reads a token's mark at most once per `cacheSeconds`, however many requests need it at the same time.
 */
export function createTokenValidity({
  revocations,
  endReused,
  cacheSeconds,
  clock,
  monotonic,
  maxTokens = 50_000,
}: TokenValidityOptions) {
  const marks = new LRUCache<string, Mark, Claims>({
    ...boundedTo(maxTokens),
    // lru-cache reads 0 as "without end".
    ttl: Math.max(cacheSeconds * 1000, 1),
    ttlResolution: 0,
    perf: { now: monotonic },
    fetchMethod: async (_jti, _stale, { context }) =>
      readMark(await revocations.findStanding(context), context),
  })

  const checks = { memory: 0, database: 0 }

  return {
    /** Checks so far. */
    checks: (): Readonly<typeof checks> => checks,

    /** The current claims, `revoked`, or undefined when that takes a query. */
    recall(claims: Claims): Claims | 'revoked' | undefined {
      const mark = cacheSeconds > 0 ? marks.get(claims.jti) : undefined
      if (!mark) return undefined
      checks.memory++
      const current = currentClaims(claims, mark)
      if (!current) return 'revoked'
      return isReused(mark, clock()) ? undefined : current
    },

    /** The current claims; throws `invalid_token` when the user does not exist or the token was revoked. */
    async check(claims: Claims, audit: RequestAudit): Promise<Claims> {
      checks.database++
      const mark = await marks.fetch(claims.jti, { forceRefresh: cacheSeconds === 0, context: claims })
      const current = mark && currentClaims(claims, mark)
      if (!current) throw revokedToken()
      if (!isReused(mark, clock())) return current
      await endReused({ claims, audit })
      marks.delete(claims.jti)
      throw revokedToken()
    },

    /** Reads the token again at its next request. */
    forget: (claims: Claims): void => void marks.delete(claims.jti),
  }
}

export const revokedToken = () => new AppError('invalid_token', 'The token was revoked')

/** Whether a token is used after the grace that followed its refresh. */
export const isReused = ({ refreshedUntil }: Pick<TokenStanding, 'refreshedUntil'>, now: number): boolean =>
  refreshedUntil !== undefined && now >= refreshedUntil.getTime()

/** Whether the user of a token exists, its session has not ended, and it was issued after the user's valid-from mark. */
export const isCurrent = (
  standing: TokenStanding,
  claims: Claims,
): standing is TokenStanding & { user: User } =>
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

const readMark = (standing: TokenStanding, claims: Claims): Mark => ({
  isValid: isCurrent(standing, claims),
  role: standing.user ? roleOf(standing.user) : '',
  refreshedUntil: standing.refreshedUntil,
})
