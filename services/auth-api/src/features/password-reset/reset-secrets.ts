import { createHmac, hkdfSync, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'

export type ResetSecrets = ReturnType<typeof createResetSecrets>

/**
 * Creates the tokens and codes of resets, and their keyed hashes. The database stores only the hashes. A code has a
 * million values, so an unkeyed hash would be reversed at once; the key is derived from JWT_SECRET (HKDF, RFC 5869). New
 * hashes use `current`; hashes with `previous` stay valid, so that a rotation ends no reset.
 */
export function createResetSecrets(current: Uint8Array, previous?: Uint8Array) {
  const hashWithCurrent = createKeyedHash(current)
  const hashes = previous ? [hashWithCurrent, createKeyedHash(previous)] : [hashWithCurrent]
  return {
    /** 256 random bits. */
    newToken: (): string => randomBytes(32).toString('base64url'),
    /** Six digits. */
    newCode: (): string => String(randomInt(1_000_000)).padStart(6, '0'),
    /** A value that is not the hash of any code. */
    hashOfNothing: (): string => randomBytes(32).toString('hex'),
    hash: hashWithCurrent,
    isHashOf: (stored: string, resetId: string, value: string): boolean =>
      hashes.some((hash) =>
        timingSafeEqual(Buffer.from(stored, 'latin1'), Buffer.from(hash(resetId, value), 'latin1')),
      ),
  }
}

function createKeyedHash(secret: Uint8Array) {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'latchkey password reset', 32))
  return (resetId: string, value: string): string =>
    createHmac('sha256', key).update(`${resetId}\0${value}`).digest('hex')
}
