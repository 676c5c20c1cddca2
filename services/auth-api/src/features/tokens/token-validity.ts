import { AppError } from '@latchkey/shared/app-error.ts'
import type { MonotonicClock } from '@latchkey/shared/clock.ts'
import { roleOf, type User, validFromOf } from '@latchkey/shared/users/user.ts'
import { LRUCache } from 'lru-cache'
import type { Claims } from './claims.ts'
import type { RevocationRepository, TokenStanding } from './revocation-repository.ts'

export interface TokenValidityOptions {
  revocations: Pick<RevocationRepository, 'findStanding'>
  /** How long a token's mark is remembered, in seconds. 0 reads it for each request. */
  cacheSeconds: number
  /** Not the wall clock: set back, it would prolong what is remembered. */
  monotonic: MonotonicClock
  /** Tokens remembered at most. */
  maxTokens?: number
}

export type TokenValidity = ReturnType<typeof createTokenValidity>

/** What is remembered of a token. */
interface Mark {
  /** Seconds since the epoch; `Infinity` for a user who does not exist, and for a session that has ended. */
  issuedFrom: number
  role: string
}

/**
 * Checks that a signed token has not been revoked: its user exists, its session has not ended, and it was issued after
 * the user's valid-from mark. Gives its claims with the role that the user has now, which is the one that a route's
 * required role is compared with. Reads a token's mark at most once per `cacheSeconds`, however many requests need it at
 * the same time.
 */
export function createTokenValidity({
  revocations,
  cacheSeconds,
  monotonic,
  maxTokens = 50_000,
}: TokenValidityOptions) {
  const marks = new LRUCache<string, Mark, Claims>({
    max: maxTokens,
    // lru-cache reads 0 as "without end".
    ttl: Math.max(cacheSeconds * 1000, 1),
    ttlResolution: 0,
    perf: { now: monotonic },
    fetchMethod: async (_jti, _stale, { context }) => readMark(await revocations.findStanding(context)),
  })

  return {
    /** The current claims, `revoked`, or undefined when that takes a query. */
    recall(claims: Claims): Claims | 'revoked' | undefined {
      const mark = cacheSeconds > 0 ? marks.get(claims.jti) : undefined
      return mark && (currentClaims(claims, mark) ?? 'revoked')
    },

    /** The current claims; throws `invalid_token` when the user does not exist or the token was revoked. */
    async check(claims: Claims): Promise<Claims> {
      const mark = await marks.fetch(claims.jti, { forceRefresh: cacheSeconds === 0, context: claims })
      const current = mark && currentClaims(claims, mark)
      if (!current) throw revokedToken()
      return current
    },

    /** Reads the token again at its next request. */
    forget: (claims: Claims): void => void marks.delete(claims.jti),
  }
}

export const revokedToken = () => new AppError('invalid_token', 'The token was revoked')

/** Whether a token with these claims is valid for a user who has just been read. */
export const isValidFor = (user: User | undefined, claims: Claims): user is User =>
  claims.iat >= markOf(user).issuedFrom

/** The user of a token, as both are in the database now; throws `invalid_token` when the token has ended. */
export async function requireValid(
  revocations: Pick<RevocationRepository, 'findStanding'>,
  claims: Claims,
): Promise<User> {
  const standing = await revocations.findStanding(claims)
  const isValid = currentClaims(claims, readMark(standing)) !== undefined
  if (!standing.user || !isValid) throw revokedToken()
  return standing.user
}

/** Undefined for a revoked token. */
function currentClaims(claims: Claims, { issuedFrom, role }: Mark): Claims | undefined {
  if (claims.iat < issuedFrom) return undefined
  return claims.data.role === role ? claims : { ...claims, data: { ...claims.data, role } }
}

const readMark = ({ user, hasSessionEnded }: TokenStanding): Mark =>
  hasSessionEnded ? markOf(undefined) : markOf(user)

const markOf = (user: User | undefined): Mark =>
  !user || user.deletedAt
    ? { issuedFrom: Number.POSITIVE_INFINITY, role: '' }
    : { issuedFrom: validFromOf(user), role: roleOf(user) }
