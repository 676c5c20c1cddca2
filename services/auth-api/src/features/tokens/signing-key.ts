import type { webcrypto } from 'node:crypto'

export type SigningKey = webcrypto.CryptoKey

/** Imports a secret for HS512 once, so that no request pays for it. */
export const importSigningKey = (secret: Uint8Array): Promise<SigningKey> =>
  crypto.subtle.importKey('raw', Uint8Array.from(secret), { name: 'HMAC', hash: 'SHA-512' }, false, [
    'sign',
    'verify',
  ])
