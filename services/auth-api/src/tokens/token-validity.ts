import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock, MonotonicClock } from '@latchkey/shared/time/clock.ts'
import { isIssuedAfterValidFrom, roleOf, type TokenOfUser, type User } from '@latchkey/shared/users/user.ts'
import { factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { LRUCache } from 'lru-cache'
import type { Claims } from './claims.ts'
import { currentAmr } from './current-amr.ts'
import {
  type RevocationRepository,
  sessionIdOf,
  type TokenKeys,
  type TokenStatus,
} from './revocation-repository.ts'
import { isReplaced, type RecordUse } from './token-pair.ts'

export interface TokenValidityOptions {
  revocations: Pick<RevocationRepository, 'findStatus'>
  recordUse: RecordUse
  /** The time for which a token's status is remembered, in seconds. 0 reads it for each request. */
  cacheSeconds: number
  /** The clock of the database, by which a replica has stored the end of a token. */
  sharedNow: Clock
  /** Measures how old a remembered status is. The wall clock, set back, would prolong it. */
  elapsed: MonotonicClock
  /** Number of tokens that are remembered at most. */
  maxTokens?: number
}

export type TokenValidity = ReturnType<typeof createTokenValidity>

/** A remembered status of a token. */
interface CachedStatus extends Pick<TokenStatus, 'replacedFrom'> {
  /** The role of its user; undefined where the user is gone, its session has ended, or the user's valid-from time ends it. */
  role: string | undefined
  hasFactors: boolean
}

/** A read of a token's status, in progress or ended. */
interface CacheEntry {
  begunAt: number
  sessionId: string
  /** The claim of the token: the tokens of a pair share their `jti`, and one can be from before a valid-from time. */
  validFrom: number
  status: Promise<CachedStatus>
}

/**
 * Checks that a signed token has not been revoked: its user exists, its session has not ended, and it was issued after
 * the user's valid-from time. A token that was refreshed is refused once a grace has passed since its successor was used.
 * Returns its claims with the role that the user has now, with which a route's required role is compared, and without a second
 * factor in `amr` once the user has none.
 * Reads a token's status at most once per `cacheSeconds`, however many requests need it at the same time.
 */
export function createTokenValidity({
  revocations,
  recordUse,
  cacheSeconds,
  sharedNow,
  elapsed,
  maxTokens = 10_000,
}: TokenValidityOptions) {
  const checks = { memory: 0, database: 0 }
  const cacheMs = cacheSeconds * 1000
  const read = async (claims: Claims): Promise<CachedStatus> => {
    const status = await revocations.findStatus(claims)
    const { replacedFrom } = status
    if (!isCurrent(status, claims)) return { role: undefined, hasFactors: false, replacedFrom }
    await recordUse(claims, status)
    const hasFactors = factorKindsOf(status.user).length > 0
    return { role: roleOf(status.user), hasFactors, replacedFrom }
  }
  const remembered = new LRUCache<string, CacheEntry>({ max: maxTokens })

  async function find(claims: Claims): Promise<CachedStatus> {
    const known = remembered.get(claims.jti)
    if (known?.validFrom === claims.valid_from && elapsed() - known.begunAt <= cacheMs) {
      checks.memory++
      return known.status
    }
    checks.database++
    // A remembered status is as old as the beginning of its read.
    const reading = {
      begunAt: elapsed(),
      sessionId: sessionIdOf(claims),
      validFrom: claims.valid_from,
      status: read(claims),
    }
    if (cacheMs > 0) remember(claims, reading)
    return reading.status
  }

  function remember({ jti }: Claims, reading: CacheEntry): void {
    remembered.set(jti, reading)
    // A read that failed is repeated by the next request. `find` reports the error.
    reading.status.catch(() => {
      if (remembered.peek(jti) === reading) remembered.delete(jti)
    })
  }

  return {
    /** Returns the number of checks so far, by where the status was found. */
    checks: (): Readonly<typeof checks> => checks,

    /** Resolves with the current claims. Throws `invalid_token` when the token was revoked. */
    async requireValid(claims: Claims): Promise<Claims> {
      const status = await find(claims)
      const { role, hasFactors } = status
      if (role === undefined || isReplaced(status, sharedNow())) throw revokedToken()
      const amr = currentAmr(claims.amr, hasFactors)
      const isAsIssued = claims.data.role === role && claims.amr === amr
      return isAsIssued ? claims : { ...claims, amr, data: { ...claims.data, role } }
    },

    /**
     * Forgets a token, so that its next request reads its status again. A read in progress still answers the requests that
     * wait for it.
     */
    forget: ({ jti }: Claims): void => void remembered.delete(jti),

    /** Forgets the tokens of a session. */
    forgetSession(id: string): void {
      for (const [jti, { sessionId }] of remembered.entries()) if (sessionId === id) remembered.delete(jti)
    },
  }
}

export const revokedToken = () => new AppError('invalid_token', 'The token was revoked')

/** True where the user of a token exists, its session has not ended, and it was issued after the user's valid-from time. */
export const isCurrent = (status: TokenStatus, claims: TokenOfUser): status is TokenStatus & { user: User } =>
  !status.isSessionRevoked &&
  status.user !== undefined &&
  !status.user.deletedAt &&
  isIssuedAfterValidFrom(status.user, claims)

/** Returns the user of a token, as both are in the database now; throws `invalid_token` when the token has ended. */
export type GetTokenUser = (db: Queryable, claims: TokenKeys & TokenOfUser) => Promise<User>

export interface GetTokenUserDependencies {
  revocationsIn: (db: Queryable) => Pick<RevocationRepository, 'findStatus'>
  sharedNow: Clock
}

/** Creates the function that reads a token's status, within a transaction if it is given one. */
export const createGetTokenUser =
  ({ revocationsIn, sharedNow }: GetTokenUserDependencies): GetTokenUser =>
  async (db, claims) => {
    const status = await revocationsIn(db).findStatus(claims)
    if (!isCurrent(status, claims) || isReplaced(status, sharedNow())) throw revokedToken()
    return status.user
  }

/**
 * Locks the user of a token inside a transaction, so that changes of one user take turns. Returns the user; throws
 * `invalid_token` when the token has ended, by the change before for example.
 */
export type LockUser = (transaction: Queryable, claims: TokenKeys & TokenOfUser) => Promise<User>

export interface LockUserDependencies {
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'lock'>
  getTokenUser: GetTokenUser
}

/** Creates the function that locks the user of a token. */
export const createLockUser =
  ({ usersIn, getTokenUser }: LockUserDependencies): LockUser =>
  async (transaction, claims) => {
    // The status is read after the row is locked.
    const locked = usersIn(transaction).lock(claims.sub)
    const [user] = await Promise.all([getTokenUser(transaction, claims), locked])
    return user
  }
