import type { webcrypto } from 'node:crypto'
import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import { errors, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { Claims } from './claims.ts'

export interface VerifyTokenOptions {
  /** The current key first, then the previous one during a rotation. */
  keys: readonly webcrypto.CryptoKey[]
  issuer: string
  clock: Clock
  /** Verified tokens remembered at most. */
  maxTokens?: number
  /** Memory that they take at most. Default 16 MiB: ten thousand tokens of the usual length. */
  maxBytes?: number
}

export type TokenVerifier = ReturnType<typeof createTokenVerifier>

/** Longer tokens are verified each time. */
const MAX_REMEMBERED_LENGTH = 2048
const MAX_REMEMBERED_BYTES = 16 * 1024 * 1024
/** What a remembered token takes besides its text, which its claims repeat. */
const ENTRY_BYTES = 500
/** How far the clock of the issuing replica may be ahead (RFC 7519 §4.1.5). `exp` has no leeway. */
const NOT_BEFORE_LEEWAY_SECONDS = 5

/**
 * Verifies tokens: signature, issuer, times and the shape of the claims. A verified token is remembered until it
 * expires, so that its signature is checked once.
 */
export function createTokenVerifier({
  keys,
  issuer,
  clock,
  maxTokens = 10_000,
  maxBytes = MAX_REMEMBERED_BYTES,
}: VerifyTokenOptions) {
  const verified = new LRUCache<string, Claims>({
    max: maxTokens,
    maxSize: maxBytes,
    sizeCalculation: (_claims, token) => ENTRY_BYTES + 2 * token.length,
  })

  async function verify(token: string): Promise<Claims> {
    const claims = await verifySignedBy(keys, token, { issuer, now: clock() })
    if (token.length <= MAX_REMEMBERED_LENGTH) verified.set(token, claims)
    return claims
  }

  return {
    /** The claims of a remembered token that is still valid. Not a promise, for the hot path. */
    recall(token: string): Claims | undefined {
      const claims = verified.get(token)
      if (!claims) return undefined
      const now = clock()
      if (!hasExpired(claims, now) && now / 1000 >= claims.nbf - NOT_BEFORE_LEEWAY_SECONDS) return claims
      verified.delete(token)
      return undefined
    },
    /** Throws `invalid_token`. Its message reveals an expiry, and nothing else about why the token is invalid. */
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
      // Another key helps only if the token was signed by another secret.
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
  if (!hasCanonicalSignature(token)) throw invalidToken()
  const { payload, protectedHeader } = await jwtVerify(token, key, {
    algorithms: ['HS512'],
    issuer,
    typ: 'JWT',
    currentDate: new Date(now),
    // For `nbf`. jose applies it to `exp` too, which is therefore checked again below.
    clockTolerance: NOT_BEFORE_LEEWAY_SECONDS,
    requiredClaims: ['sub', 'iat', 'nbf', 'exp', 'jti'],
  })
  const claims = Claims.safeParse(payload)
  // Latchkey's header has these two members only: a token with `kid`, `jwk`, `x5u` or `crit` is not one of its tokens.
  const isIssuedHere =
    Object.keys(protectedHeader).length === 2 && claims.success && claims.data.sub === claims.data.data.userid
  if (!isIssuedHere) throw invalidToken()
  if (hasExpired(claims.data, now)) throw expiredToken()
  return claims.data
}

/** RFC 7515 §2: base64url without padding. Decoders also accept padding, other unused bits and base64. */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

const hasExpired = ({ exp }: Claims, now: number): boolean => now / 1000 >= exp

const invalidToken = () => new AppError('invalid_token', 'The token is not valid')
const expiredToken = () => new AppError('invalid_token', 'The token has expired')
