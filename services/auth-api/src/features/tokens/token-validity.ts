import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import { roleOf, type User, validFromOf } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { LRUCache } from 'lru-cache'
import type { Claims } from './claims.ts'

export interface TokenValidityOptions {
  users: Pick<UserRepository, 'findById'>
  /** How long a user's mark is remembered, in seconds. 0 reads it for each request. */
  cacheSeconds: number
  clock: Clock
  /** Users remembered at most. */
  maxUsers?: number
}

export type TokenValidity = ReturnType<typeof createTokenValidity>

/** What is remembered of a user. */
interface Mark {
  /** Seconds since the epoch; `Infinity` for a user who does not exist. */
  issuedFrom: number
  role: string
}

/**
 * Checks that a signed token has not been revoked: its user exists, and it was issued after the user's valid-from mark.
 * Gives its claims with the role that the user has now, which is the one that a route's required role is compared with.
 * Reads a user at most once per `cacheSeconds`, however many requests need it at the same time.
 */
export function createTokenValidity({ users, cacheSeconds, clock, maxUsers = 50_000 }: TokenValidityOptions) {
  const marks = new LRUCache<string, Mark>({
    max: maxUsers,
    // lru-cache reads 0 as "without end".
    ttl: Math.max(cacheSeconds * 1000, 1),
    ttlResolution: 0,
    perf: { now: clock },
    fetchMethod: async (userid) => readMark(await users.findById(userid)),
  })

  return {
    /** The current claims, `revoked`, or undefined when that takes a query. */
    recall(claims: Claims): Claims | 'revoked' | undefined {
      const mark = cacheSeconds > 0 ? marks.get(claims.sub) : undefined
      return mark && (currentClaims(claims, mark) ?? 'revoked')
    },

    /** The current claims; throws `invalid_token` when the user does not exist or the token was revoked. */
    async check(claims: Claims): Promise<Claims> {
      const mark = await marks.fetch(claims.sub, { forceRefresh: cacheSeconds === 0 })
      const current = mark && currentClaims(claims, mark)
      if (!current) throw revokedToken()
      return current
    },
  }
}

export const revokedToken = () => new AppError('invalid_token', 'The token was revoked')

/** Whether a token with these claims is valid for a user who has just been read. */
export const isValidFor = (user: User | undefined, claims: Claims): user is User =>
  claims.iat >= readMark(user).issuedFrom

/** Undefined for a revoked token. */
function currentClaims(claims: Claims, { issuedFrom, role }: Mark): Claims | undefined {
  if (claims.iat < issuedFrom) return undefined
  return claims.data.role === role ? claims : { ...claims, data: { ...claims.data, role } }
}

const readMark = (user: User | undefined): Mark =>
  !user || user.deletedAt
    ? { issuedFrom: Number.POSITIVE_INFINITY, role: '' }
    : { issuedFrom: validFromOf(user), role: roleOf(user) }
