import { timingSafeEqual } from 'node:crypto'
import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import { LRUCache } from 'lru-cache'
import { Claims } from './claims.ts'
import { type SigningKey, signatureOf, TOKEN_HEADER } from './signing-key.ts'

export interface VerifyTokenOptions {
  /** The current key first, then the previous one during a rotation. */
  keys: readonly SigningKey[]
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
  // By signature: a map hashes its key, and the whole text takes five times as long.
  const verified = new LRUCache<string, Verified>({
    max: maxTokens,
    maxSize: maxBytes,
    sizeCalculation: ({ token }) => ENTRY_BYTES + 2 * token.length,
  })

  function remember(token: string, claims: Claims): Claims {
    if (token.length <= MAX_REMEMBERED_LENGTH) verified.set(signatureIn(token), { token, claims })
    return claims
  }

  return {
    /**
     * The claims of a valid token that is remembered, or has the form in which Latchkey writes it. Not a promise, for the
     * hot path; undefined for a token that `verify` has to accept or refuse.
     */
    recall(token: string): Claims | undefined {
      const now = clock()
      const signature = signatureIn(token)
      const known = verified.get(signature)
      // The whole text: anybody can put a known signature under other claims.
      if (known?.token === token) {
        if (isInTime(known.claims, now)) return known.claims
        verified.delete(signature)
      }
      const claims = verifyOwn(keys, token, { issuer, now })
      return claims && remember(token, claims)
    },
    /** Throws `invalid_token`. Its message reveals an expiry, and nothing else about why the token is invalid. */
    verify: async (token: string): Promise<Claims> =>
      remember(token, await verifySignedBy(keys, token, { issuer, now: clock() })),
    size: () => verified.size,
  }
}

interface Verified {
  token: string
  claims: Claims
}

interface Expected {
  issuer: string
  /** Milliseconds since the epoch. */
  now: number
}

/** Of HMAC-SHA-512 in base64url. */
const SIGNATURE_LENGTH = 86

/** The signature of a token that may be valid. */
const signatureIn = (token: string): string => token.slice(-SIGNATURE_LENGTH)

const OWN_START = `${TOKEN_HEADER}.`
const BASE64URL = /^[\w-]+$/

/** Verifies a token with the header of Latchkey's tokens; undefined for any other token, and for one that is not valid. */
function verifyOwn(
  keys: readonly SigningKey[],
  token: string,
  { issuer, now }: Expected,
): Claims | undefined {
  if (!token.startsWith(OWN_START)) return undefined
  const end = token.lastIndexOf('.')
  const payload = token.slice(OWN_START.length, end)
  if (!BASE64URL.test(payload) || !isSigned(keys, token.slice(0, end), token.slice(end + 1))) return undefined
  const { success, data: claims } = Claims.safeParse(parseJson(payload))
  return success && isIssuedBy(issuer, claims) && isInTime(claims, now) ? claims : undefined
}

/** Compares the text: base64url has several spellings of the same bytes, of which one is a signature. */
function isSigned(keys: readonly SigningKey[], signed: string, signature: string): boolean {
  const given = Buffer.from(signature)
  return keys.some((key) => {
    const wanted = Buffer.from(signatureOf(key, signed))
    return wanted.length === given.length && timingSafeEqual(wanted, given)
  })
}

function parseJson(payload: string): unknown {
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString())
  } catch {
    return undefined
  }
}

const isIssuedBy = (issuer: string, { iss, sub, data }: Claims): boolean =>
  iss === issuer && sub === data.userid

async function verifySignedBy(
  keys: readonly SigningKey[],
  token: string,
  expected: Expected,
): Promise<Claims> {
  // Tokens in Latchkey's own form need none of its modules.
  const { errors } = await import('jose')
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
  { webCrypto: key }: SigningKey,
  token: string,
  { issuer, now }: Expected,
): Promise<Claims> {
  if (!hasCanonicalSignature(token)) throw invalidToken()
  const { jwtVerify } = await import('jose')
  const { payload, protectedHeader } = await jwtVerify(token, key, {
    algorithms: ['HS512'],
    issuer,
    typ: 'JWT',
    currentDate: new Date(now),
    // For `nbf`. jose applies it to `exp` too, which is therefore checked again below.
    clockTolerance: NOT_BEFORE_LEEWAY_SECONDS,
  })
  // jose checks a time that is there; `Claims` requires all of them.
  const claims = Claims.safeParse(payload)
  // Latchkey's header has these two members only: a token with `kid`, `jwk`, `x5u` or `crit` is not one of its tokens.
  const isIssuedHere =
    Object.keys(protectedHeader).length === 2 && claims.success && isIssuedBy(issuer, claims.data)
  if (!isIssuedHere) throw invalidToken()
  if (hasExpired(claims.data, now)) throw expiredToken()
  return claims.data
}

/** RFC 7515 §2: base64url without padding. Decoders also accept padding, other unused bits and base64. */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return Buffer.from(signature, 'base64url').toString('base64url') === signature
}

const isInTime = (claims: Claims, now: number): boolean =>
  !hasExpired(claims, now) && now / 1000 >= claims.nbf - NOT_BEFORE_LEEWAY_SECONDS

const hasExpired = ({ exp }: Claims, now: number): boolean => now / 1000 >= exp

const invalidToken = () => new AppError('invalid_token', 'The token is not valid')
const expiredToken = () => new AppError('invalid_token', 'The token has expired')
