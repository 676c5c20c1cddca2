import { createHmac, createSecretKey, type KeyObject, type webcrypto } from 'node:crypto'

/** A secret for HS512. */
export interface SigningKey {
  /** For jose. */
  webCrypto: webcrypto.CryptoKey
  /** For a signature at once: WebCrypto uses another thread, and its results wait for a turn of the event loop. */
  hmac: KeyObject
}

/** The header of every token that Latchkey issues, as it is in the token. */
export const TOKEN_HEADER = Buffer.from(JSON.stringify({ alg: 'HS512', typ: 'JWT' })).toString('base64url')

/** Imports a secret. Done once, so that no request pays for it. */
export const importSigningKey = async (secret: Uint8Array): Promise<SigningKey> => ({
  webCrypto: await crypto.subtle.importKey(
    'raw',
    Uint8Array.from(secret),
    { name: 'HMAC', hash: 'SHA-512' },
    false,
    ['sign', 'verify'],
  ),
  hmac: createSecretKey(secret),
})

/** The signature of a token's first two parts, in base64url (RFC 7515 §5.1). */
export const signatureOf = ({ hmac }: SigningKey, signed: string): string =>
  createHmac('sha512', hmac).update(signed).digest('base64url')
