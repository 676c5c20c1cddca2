import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { errors, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { Claims } from './claims.ts'
import type { TokenKey } from './signing-keys.ts'

export interface VerifyTokenOptions {
  /** The current key first, then the others during a rotation. */
  keys: readonly TokenKey[]
  issuer: string
  localNow: Clock
  /** Number of verified tokens that are remembered at most. */
  maxTokens?: number
  /** Receives by how many seconds a token with a valid signature is from the future. */
  onFuture?: (seconds: number) => void
}

export interface TokenVerifier {
  /** Throws `invalid_token`. Its message reveals an expiry, and nothing else about why the token is invalid. */
  verify(token: string): Promise<Claims>
}

/** The time by which the clock of the issuing replica may be ahead (RFC 7519 §4.1.5). `exp` has no leeway. */
export const NOT_BEFORE_LEEWAY_SECONDS = 5

/**
 * Verifies tokens: signature, issuer, times and the shape of the claims. What was verified is remembered by the whole
 * token, so that its signature is checked once.
 */
export function createTokenVerifier({
  keys,
  issuer,
  localNow,
  maxTokens = 10_000,
  onFuture = () => undefined,
}: VerifyTokenOptions): TokenVerifier {
  const verified = new LRUCache<string, Claims>({ max: maxTokens })
  return {
    async verify(token) {
      const now = localNow()
      const claims = verified.get(token) ?? (await verifySignedBy(keys, token, { issuer, now, onFuture }))
      if (claims.nbf * 1000 > now) onFuture(claims.nbf - now / 1000)
      requireInTime(claims, now)
      verified.set(token, claims)
      return claims
    },
  }
}

interface Expected {
  issuer: string
  /** The current time in milliseconds since the epoch. */
  now: number
  onFuture: (seconds: number) => void
}

async function verifySignedBy(keys: readonly TokenKey[], token: string, expected: Expected): Promise<Claims> {
  for (const key of keys) {
    try {
      return await verifyWith(key, token, expected)
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw expiredToken()
      if (isTooEarly(error)) expected.onFuture(Number(error.payload.nbf) - expected.now / 1000)
      // Another key may accept it.
    }
  }
  throw invalidToken()
}

/** jose checks the times after the signature. */
const isTooEarly = (error: unknown): error is errors.JWTClaimValidationFailed =>
  error instanceof errors.JWTClaimValidationFailed && error.claim === 'nbf' && error.reason === 'check_failed'

async function verifyWith(
  { header, verifying }: TokenKey,
  token: string,
  { issuer, now }: Expected,
): Promise<Claims> {
  if (!hasCanonicalSignature(token)) throw invalidToken()
  // A key is tried on its own tokens only, so that a token costs one check of a public key at most.
  const keyOf = ({ kid }: { kid?: string }) => {
    if (kid !== header.kid) throw new errors.JWKSNoMatchingKey()
    return verifying
  }
  const { payload, protectedHeader } = await jwtVerify(token, keyOf, {
    // The algorithm of the key, never that of the token (RFC 8725 §3.1).
    algorithms: [header.alg],
    issuer,
    typ: 'JWT',
    currentDate: new Date(now),
    // The tolerance is for `nbf`. jose applies it to `exp` too, so `requireInTime` checks `exp` again.
    clockTolerance: NOT_BEFORE_LEEWAY_SECONDS,
  })
  // jose checks a time that is there; `Claims` requires all of them.
  const claims = Claims.safeParse(payload)
  // Latchkey's header has no other members: a token with `jwk`, `jku`, `x5c` or `crit` is not one of its tokens.
  const isIssuedHere =
    Object.keys(protectedHeader).length === Object.keys(header).length &&
    claims.success &&
    claims.data.sub === claims.data.data.userid
  if (!isIssuedHere) throw invalidToken()
  return claims.data
}

/** RFC 7515 §2: base64url without padding. Decoders also accept padding, other unused bits and base64. */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

function requireInTime({ exp, nbf }: Claims, now: number): void {
  if (now / 1000 >= exp) throw expiredToken()
  if (now / 1000 < nbf - NOT_BEFORE_LEEWAY_SECONDS) throw invalidToken()
}

const invalidToken = () => new AppError('invalid_token', 'The token is not valid')
const expiredToken = () => new AppError('invalid_token', 'The token has expired')
