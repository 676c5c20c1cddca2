import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

/** The algorithms of RFC 7518 and RFC 8037 that Latchkey signs with a private key. */
export type SignatureAlgorithm = 'EdDSA' | 'ES256' | 'RS256'

/** A private key, and the one algorithm that it is used with. */
export interface PrivateKey {
  algorithm: SignatureAlgorithm
  key: KeyObject
}

const MINIMUM_RSA_BITS = 2048

/** The generators of new keys, by their kind. */
const GENERATORS = {
  ed25519: () => generateKeyPairSync('ed25519'),
  es256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  rs256: () => generateKeyPairSync('rsa', { modulusLength: 3072 }),
}

export type KeyKind = keyof typeof GENERATORS
export const KEY_KINDS = Object.keys(GENERATORS) as KeyKind[]

/** The kind of key that an algorithm needs. */
export const KIND_OF: Readonly<Record<SignatureAlgorithm, KeyKind>> = {
  EdDSA: 'ed25519',
  ES256: 'es256',
  RS256: 'rs256',
}

/** Generates a private key in PEM format (PKCS #8). */
export const generatePrivateKey = (kind: KeyKind): string =>
  GENERATORS[kind]().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** The fault of a key, and what to do; neither contains anything of the key. */
interface KeyFault {
  message: string
  remedy?: string
}

/** Reads a private key in PEM format, with line ends as they are or written `\n`. */
export function parsePrivateKey(text: string): PrivateKey | KeyFault {
  const pem = text.replaceAll('\\n', '\n')
  if (/ENCRYPTED/.test(pem))
    return { message: 'is encrypted', remedy: 'Decrypt it: openssl pkey -in <file> -out <new file>' }
  if (/BEGIN (RSA )?PUBLIC KEY/.test(pem))
    return {
      message: 'is a public key, which cannot sign',
      remedy: 'Give the private key that belongs to it.',
    }
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    // The error of OpenSSL says no more, and might quote its input.
    return { message: 'must be a private key in PEM format' }
  }
  const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  const algorithm = algorithmOf(key)
  if (!algorithm)
    return { message: 'must be a key for EdDSA (Ed25519), ES256 (the curve P-256) or RS256 (RSA)' }
  if (algorithm === 'RS256' && modulusLength < MINIMUM_RSA_BITS)
    return { message: `has ${modulusLength} bits, and at least ${MINIMUM_RSA_BITS} are needed` }
  return { algorithm, key }
}

/** One algorithm for each key, so that no header can choose another one (RFC 8725 §3.1). */
function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): SignatureAlgorithm | undefined {
  if (asymmetricKeyType === 'ed25519') return 'EdDSA'
  if (asymmetricKeyType === 'rsa') return 'RS256'
  return asymmetricKeyDetails?.namedCurve === 'prime256v1' ? 'ES256' : undefined
}
