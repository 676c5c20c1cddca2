import { AppError } from '@latchkey/shared/app-error.ts'
import { type User, validFromOf } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { LRUCache } from 'lru-cache'
import type { Claims } from './claims.ts'

export interface TokenValidityOptions {
  users: Pick<UserRepository, 'findById'>
  /** How long what was read of a user holds, in seconds. 0 reads it for each request. */
  cacheSeconds: number
  /** Users remembered at the most. */
  remembered?: number
}

export type TokenValidity = ReturnType<typeof createTokenValidity>

/** The moment from which on tokens of a user count, in seconds; `Infinity` for a user who is gone. */
type ValidFrom = number

/**
 * Tells whether a signed token still counts: its user is there, and it was issued after the user's valid-from mark.
 * Reads a user at most once per `cacheSeconds`, however many requests ask at once.
 */
export function createTokenValidity({ users, cacheSeconds, remembered = 50_000 }: TokenValidityOptions) {
  const marks = new LRUCache<string, ValidFrom>({
    max: remembered,
    // lru-cache reads 0 as "for ever".
    ttl: Math.max(cacheSeconds * 1000, 1),
    fetchMethod: async (userid) => readValidFrom(await users.findById(userid)),
  })

  return {
    /** True or false when it is known without a query, else undefined. */
    recall(claims: Claims): boolean | undefined {
      const validFrom = cacheSeconds > 0 ? marks.get(claims.sub) : undefined
      return validFrom === undefined ? undefined : claims.iat >= validFrom
    },

    /** Throws `invalid_token` for a token of a user who is gone or whose tokens were revoked since. */
    async check(claims: Claims): Promise<void> {
      const validFrom = await marks.fetch(claims.sub, { forceRefresh: cacheSeconds === 0 })
      if (validFrom === undefined || claims.iat < validFrom) throw revokedToken()
    },
  }
}

export const revokedToken = () => new AppError('invalid_token', 'The token was revoked')

/** For a user who was just read: true when a token with these claims still counts. */
export const isValidFor = (user: User | undefined, claims: Claims): user is User =>
  claims.iat >= readValidFrom(user)

const readValidFrom = (user: User | undefined): ValidFrom =>
  !user || user.deletedAt ? Number.POSITIVE_INFINITY : validFromOf(user)
