import { hash, timingSafeEqual } from 'node:crypto'
import { type PasswordScheme, spellingsOf } from './password-scheme.ts'

const SHA1 = /^[0-9a-f]{40}$/i
const DECOY = '0'.repeat(40)

/**
 * The specification's default: SHA-1 of the password as 40 lower-case hexadecimal digits.
 * The scheme is for databases that have such hashes. Choose argon2id for new ones.
 */
export const sha1 = {
  // Stryker disable next-line StringLiteral: the tests of the import, which run none of these mutants, read it.
  form: 'SHA-1 as 40 hexadecimal digits',
  recognises: (stored: string) => SHA1.test(stored),
  findFault: () => undefined,
  hash: (password: string): string => hash('sha1', password.normalize('NFC')),
  verify: (password: string, stored: string): boolean =>
    spellingsOf(password)
      .map((spelling) => isHashOf(spelling, stored))
      .includes(true),
  isCurrent: () => true,
  completeRefusal(password: string, stored?: string): void {
    if (stored === undefined) this.verify(password, DECOY)
  },
} satisfies PasswordScheme

const isHashOf = (password: string, stored: string): boolean =>
  timingSafeEqual(Buffer.from(hash('sha1', password)), Buffer.from(stored.toLowerCase()))
