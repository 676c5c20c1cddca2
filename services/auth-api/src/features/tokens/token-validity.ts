import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import { type User, validFromOf } from '@latchkey/shared/users/user.ts'
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

/** The moment from which on tokens of a user are valid, in seconds; `Infinity` for a user who does not exist. */
type ValidFrom = number

/**
 * Checks that a signed token has not been revoked: its user exists, and it was issued after the user's valid-from mark.
 * Reads a user at most once per `cacheSeconds`, however many requests need it at the same time.
 */
export function createTokenValidity({ users, cacheSeconds, clock, maxUsers = 50_000 }: TokenValidityOptions) {
  const marks = new LRUCache<string, ValidFrom>({
    max: maxUsers,
    // lru-cache reads 0 as "without end".
    ttl: Math.max(cacheSeconds * 1000, 1),
    ttlResolution: 0,
    perf: { now: clock },
    fetchMethod: async (userid) => readValidFrom(await users.findById(userid)),
  })

  return {
    /** Whether the token is valid, or undefined when that takes a query. */
    recall(claims: Claims): boolean | undefined {
      const validFrom = cacheSeconds > 0 ? marks.get(claims.sub) : undefined
      return validFrom === undefined ? undefined : claims.iat >= validFrom
    },

    /** Throws `invalid_token` when the user does not exist or the token was revoked. */
    async check(claims: Claims): Promise<void> {
      const validFrom = await marks.fetch(claims.sub, { forceRefresh: cacheSeconds === 0 })
      if (validFrom === undefined || claims.iat < validFrom) throw revokedToken()
    },
  }
}

export const revokedToken = () => new AppError('invalid_token', 'The token was revoked')

/** Whether a token with these claims is valid for a user who has just been read. */
export const isValidFor = (user: User | undefined, claims: Claims): user is User =>
  claims.iat >= readValidFrom(user)

const readValidFrom = (user: User | undefined): ValidFrom =>
  !user || user.deletedAt ? Number.POSITIVE_INFINITY : validFromOf(user)
