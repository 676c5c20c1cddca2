import { hash, timingSafeEqual } from 'node:crypto'
import type { PasswordScheme } from './scheme.ts'

/**
 * The specification's default: SHA-1 of the password as 40 lower-case hexadecimal digits.
 * For databases that have such hashes; choose argon2id for new ones.
 */
export const sha1: PasswordScheme = {
  recognises: (stored) => /^[0-9a-f]{40}$/i.test(stored),
  hash: (password) => hash('sha1', password.normalize('NFC')),
  verify(password, stored) {
    // Old rows were hashed from the bytes as sent, which need not have been NFC.
    const normalised = isHashOf(password.normalize('NFC'), stored)
    const asSent = isHashOf(password, stored)
    return normalised || asSent
  },
  isCurrent: () => true,
  decoy: '0'.repeat(40),
}

const isHashOf = (password: string, stored: string): boolean =>
  timingSafeEqual(Buffer.from(hash('sha1', password), 'latin1'), Buffer.from(stored.toLowerCase(), 'latin1'))
