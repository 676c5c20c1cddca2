import { createPublicKey, type webcrypto } from 'node:crypto'
import type { PrivateKey, SignatureAlgorithm } from '@latchkey/shared/secrets/private-key.ts'
import { calculateJwkThumbprint } from 'jose'
import { z } from 'zod'
import type { Config } from '../config.ts'

/** A key of access tokens. It signs and verifies one algorithm, under one header. */
export interface TokenKey {
  /** The whole header of its tokens. `kid` is the thumbprint of RFC 7638; HS512 has none. */
  header: { alg: 'HS512' | SignatureAlgorithm; typ: 'JWT'; kid?: string }
  signing: webcrypto.CryptoKey
  verifying: webcrypto.CryptoKey
}

/**
 * The keys of access tokens. They sign nothing else: a verifier of another team checks the signature, the issuer and the
 * times, and would take whatever else they signed for an access token. Other secrets come from `secretsOf`.
 */
export interface SigningKeys {
  current: TokenKey
  /** The keys whose tokens are accepted, in the order in which they are tried. */
  accepted: readonly TokenKey[]
  /** The public keys (RFC 7517 §5): current, next and previous. */
  published: readonly PublishedKey[]
}

/** A public key in a JWK Set. */
export const PublishedKey = z.object({
  kty: z.string(),
  use: z.literal('sig'),
  alg: z.string(),
  kid: z.string().describe('The thumbprint of the key (RFC 7638), as in the header of its tokens.'),
  crv: z.string().optional(),
  x: z.string().optional(),
  y: z.string().optional(),
  n: z.string().optional(),
  e: z.string().optional(),
})
export type PublishedKey = z.output<typeof PublishedKey>

type TokenSettings = Config['tokens']

/** Imports the keys once, so that no request pays for it. */
export async function importSigningKeys(settings: TokenSettings): Promise<SigningKeys> {
  const secrets = await Promise.all(hmacSecretsIn(settings).map(importSecret))
  const pairs = await Promise.all(privateKeysIn(settings).map(importPair))
  const accepted = signingFirst(
    settings,
    secrets,
    pairs.map(({ key }) => key),
  )
  return { current: accepted[0], accepted, published: pairs.map(({ published }) => published) }
}

/**
 * The secrets from which keys of other purposes are derived, such as the one that hashes codes. The first belongs to the key
 * that signs tokens. The others keep pending codes valid during a rotation.
 */
export type Secrets = readonly [current: Uint8Array, ...others: Uint8Array[]]

export const secretsOf = (settings: TokenSettings): Secrets =>
  signingFirst(settings, hmacSecretsIn(settings), privateKeysIn(settings).map(privatePartOf))

/** Joins secrets and private keys: first those of the algorithm that signs, then the others. */
function signingFirst<Key>(
  { algorithm }: TokenSettings,
  secrets: readonly Key[],
  privateKeys: readonly Key[],
): [Key, ...Key[]] {
  const [first, ...others] =
    algorithm === 'HS512' ? [...secrets, ...privateKeys] : [...privateKeys, ...secrets]
  if (first === undefined) throw new Error(`No setting has a key for ${algorithm}`)
  return [first, ...others]
}

const hmacSecretsIn = ({ secret, previousSecret }: TokenSettings): Uint8Array[] =>
  [secret, previousSecret].filter((each) => each !== undefined)

const privateKeysIn = (given: TokenSettings): PrivateKey[] =>
  [
    given.key ?? given.keyFile,
    given.nextKey ?? given.nextKeyFile,
    given.previousKey ?? given.previousKeyFile,
  ].filter((each) => each !== undefined)

/** The private number, which is the same in every PEM of the key. */
const privatePartOf = ({ key }: PrivateKey): Uint8Array =>
  Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url')

/** Imports a secret for HS512. */
export async function importSecret(secret: Uint8Array): Promise<TokenKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-512' }
  const key = await crypto.subtle.importKey('raw', Uint8Array.from(secret), algorithm, false, [
    'sign',
    'verify',
  ])
  return { header: { alg: 'HS512', typ: 'JWT' }, signing: key, verifying: key }
}

/** The names of the algorithms in WebCrypto. */
const IMPORTED_AS = {
  EdDSA: { name: 'Ed25519' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
}

/** Imports a private key, and describes its public key for other verifiers. */
async function importPair({ key, algorithm: alg }: PrivateKey) {
  const publicKey = createPublicKey(key)
  const jwk = publicKey.export({ format: 'jwk' })
  const kid = await calculateJwkThumbprint(jwk)
  const imported: TokenKey = {
    header: { alg, typ: 'JWT', kid },
    signing: key.toCryptoKey(IMPORTED_AS[alg], false, ['sign']),
    verifying: publicKey.toCryptoKey(IMPORTED_AS[alg], true, ['verify']),
  }
  return { key: imported, published: PublishedKey.parse({ ...jwk, kid, alg, use: 'sig' }) }
}
