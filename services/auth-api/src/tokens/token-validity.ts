import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock, MonotonicClock } from '@latchkey/shared/clock.ts'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import { isIssuedAfterValidFrom, roleOf, type User } from '@latchkey/shared/users/user.ts'
import { LRUCache } from 'lru-cache'
import type { RequestAudit } from '../audit/request-audit.ts'
import type { Caller, Claims } from './claims.ts'
import type { RevocationRepository, TokenStatus } from './revocation-repository.ts'

export interface TokenValidityOptions {
  revocations: Pick<RevocationRepository, 'findStatus'>
  /** Receives a token that was used after it had been refreshed: two clients have it, and one of them may be a thief. */
  endReused: (caller: Caller) => Promise<void>
  /** How long a token's status is remembered, in seconds. 0 reads it for each request. */
  cacheSeconds: number
  clock: Clock
  /** Measures how old a remembered status is. The wall clock, set back, would prolong it. */
  monotonic: MonotonicClock
  /** Number of tokens that are remembered at most. */
  maxTokens?: number
}

export type TokenValidity = ReturnType<typeof createTokenValidity>

/** What is remembered of a token. */
interface Remembered extends Pick<TokenStatus, 'refreshedUntil'> {
  /** True while its user exists, its session has not ended, and the user's valid-from time leaves it valid. */
  isValid: boolean
  role: string
}

/**
 * Checks that a signed token has not been revoked: its user exists, its session has not ended, and it was issued after
 * the user's valid-from time. A token that was refreshed is refused after a grace, and its use then ends its session.
 * Gives its claims with the role that the user has now, which is the one that a route's required role is compared with.
 * Reads a token's status at most once per `cacheSeconds`, however many requests need it at the same time.
 */
export function createTokenValidity({
  revocations,
  endReused,
  cacheSeconds,
  clock,
  monotonic,
  maxTokens = 10_000,
}: TokenValidityOptions) {
  const checks = { memory: 0, database: 0 }
  const cacheMs = cacheSeconds * 1000
  const read = async (claims: Claims) => toRemembered(await revocations.findStatus(claims), claims)
  const remembered = new LRUCache<string, Remembered, Claims>({
    max: maxTokens,
    ttl: cacheMs,
    ttlResolution: 0,
    perf: { now: monotonic },
    // A read that `forget` overtakes still answers its own requests. It is not remembered.
    ignoreFetchAbort: true,
    async fetchMethod(_jti, _stale, { context: claims, options }) {
      const begun = monotonic()
      const found = await read(claims)
      // What is remembered is as old as the beginning of its read.
      options.ttl = Math.max(1, cacheMs - (monotonic() - begun))
      return found
    },
  })

  async function find(claims: Claims): Promise<Remembered> {
    const known = cacheMs > 0 ? remembered.get(claims.jti) : undefined
    checks[known ? 'memory' : 'database']++
    if (known) return known
    return cacheMs > 0 ? remembered.forceFetch(claims.jti, { context: claims }) : read(claims)
  }

  const forget = ({ jti }: Claims): void => void remembered.delete(jti)

  return {
    /** Returns the number of checks so far, by where the status was found. */
    checks: (): Readonly<typeof checks> => checks,

    /** Resolves with the current claims; throws `invalid_token` when the token was revoked. */
    async check(claims: Claims, audit: RequestAudit): Promise<Claims> {
      const status = await find(claims)
      if (!status.isValid) throw revokedToken()
      if (isReused(status, clock())) {
        await endReused({ claims, audit })
        forget(claims)
        throw revokedToken()
      }
      const { role } = status
      return claims.data.role === role ? claims : { ...claims, data: { ...claims.data, role } }
    },

    /** Forgets a token, so that its next request reads its status again. */
    forget,
  }
}

export const revokedToken = () => new AppError('invalid_token', 'The token was revoked')

/** Whether a token is used after the grace that followed its refresh. */
export const isReused = ({ refreshedUntil }: Pick<TokenStatus, 'refreshedUntil'>, now: number): boolean =>
  refreshedUntil !== undefined && now >= refreshedUntil.getTime()

/** Whether the user of a token exists, its session has not ended, and it was issued after the user's valid-from time. */
export const isCurrent = (status: TokenStatus, claims: Claims): status is TokenStatus & { user: User } =>
  !status.hasSessionEnded &&
  status.user !== undefined &&
  !status.user.deletedAt &&
  isIssuedAfterValidFrom(status.user, claims)

/** Returns the user of a token, as both are in the database now; throws `invalid_token` when the token has ended. */
export type RequireValid = (db: Queryable, claims: Claims) => Promise<User>

/** Does what `RequireValid` says, with the time as a value. */
export async function requireValid(
  revocations: Pick<RevocationRepository, 'findStatus'>,
  claims: Claims,
  now: number,
): Promise<User> {
  const status = await revocations.findStatus(claims)
  if (!isCurrent(status, claims) || isReused(status, now)) throw revokedToken()
  return status.user
}

const toRemembered = (status: TokenStatus, claims: Claims): Remembered => ({
  isValid: isCurrent(status, claims),
  role: status.user ? roleOf(status.user) : '',
  refreshedUntil: status.refreshedUntil,
})
