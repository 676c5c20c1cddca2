import type { webcrypto } from 'node:crypto'
import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import { errors, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { Claims } from './claims.ts'

export interface VerifyTokenOptions {
  /** The current key first, then the previous one while secrets are rotated. */
  keys: readonly webcrypto.CryptoKey[]
  issuer: string
  clock: Clock
  /** Verified tokens kept in memory at the most. */
  remembered?: number
}

export type TokenVerifier = ReturnType<typeof createTokenVerifier>

/** Longer ones are verified each time: the memory that remembering takes stays bounded. */
const MAX_REMEMBERED_LENGTH = 2048
/** How far the clock of the replica that issued a token may be ahead (RFC 7519 §4.1.5). `exp` has no such leeway. */
const NOT_BEFORE_LEEWAY_SECONDS = 5

/**
 * Verifies tokens: signature, issuer, times and the shape of the claims. A token that was verified is remembered,
 * and costs no signature check again, until it expires.
 */
export function createTokenVerifier({ keys, issuer, clock, remembered = 10_000 }: VerifyTokenOptions) {
  const verified = new LRUCache<string, Claims>({ max: remembered })

  async function verify(token: string): Promise<Claims> {
    const claims = await verifySignedBy(keys, token, { issuer, now: clock() })
    if (token.length <= MAX_REMEMBERED_LENGTH) verified.set(token, claims)
    return claims
  }

  return {
    /** The claims of a token that was verified before and is still valid now; no promise, for the hot path. */
    recall(token: string): Claims | undefined {
      const claims = verified.get(token)
      if (!claims) return undefined
      const now = clock()
      if (!hasExpired(claims, now) && now / 1000 >= claims.nbf - NOT_BEFORE_LEEWAY_SECONDS) return claims
      verified.delete(token)
      return undefined
    },
    /** Throws `invalid_token`, which says why only as far as the holder of the token may know. */
    verify,
    size: () => verified.size,
  }
}

interface Expected {
  issuer: string
  /** Milliseconds since the epoch. */
  now: number
}

async function verifySignedBy(
  keys: readonly webcrypto.CryptoKey[],
  token: string,
  expected: Expected,
): Promise<Claims> {
  for (const key of keys) {
    try {
      return await verifyWith(key, token, expected)
    } catch (error) {
      if (error instanceof AppError) throw error
      if (error instanceof errors.JWTExpired) throw expiredToken()
      // Only another secret is worth another key; everything else stays wrong.
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) break
    }
  }
  throw invalidToken()
}

async function verifyWith(
  key: webcrypto.CryptoKey,
  token: string,
  { issuer, now }: Expected,
): Promise<Claims> {
  const { payload, protectedHeader } = await jwtVerify(token, key, {
    algorithms: ['HS512'],
    issuer,
    typ: 'JWT',
    currentDate: new Date(now),
    // Meant for `nbf`; jose applies it to `exp` too, which is therefore checked again below.
    clockTolerance: NOT_BEFORE_LEEWAY_SECONDS,
    requiredClaims: ['sub', 'iat', 'nbf', 'exp', 'jti'],
  })
  const claims = Claims.safeParse(payload)
  // Our header has two members and no others: `kid`, `jwk`, `x5u` or `crit` in a token is somebody else's idea.
  const isOurs =
    Object.keys(protectedHeader).length === 2 && claims.success && claims.data.sub === claims.data.data.userid
  if (!isOurs) throw invalidToken()
  if (hasExpired(claims.data, now)) throw expiredToken()
  return claims.data
}

const hasExpired = ({ exp }: Claims, now: number): boolean => now / 1000 >= exp

const invalidToken = () => new AppError('invalid_token', 'The token is not valid')
const expiredToken = () => new AppError('invalid_token', 'The token has expired')
