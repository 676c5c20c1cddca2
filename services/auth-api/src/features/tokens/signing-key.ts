import type { webcrypto } from 'node:crypto'

/** Imports a secret for HS512. Done once, so that no request pays for it. */
export const importSigningKey = (secret: Uint8Array): Promise<webcrypto.CryptoKey> =>
  crypto.subtle.importKey('raw', Uint8Array.from(secret), { name: 'HMAC', hash: 'SHA-512' }, false, [
    'sign',
    'verify',
  ])
