import { CompactEncrypt, compactDecrypt } from 'jose'
import { z } from 'zod'

const KEY_BYTES = 32
const Variables = z.record(z.string(), z.string())

export interface Sealer {
  /** A JWE (`dir`, `A256GCM`) in compact form. */
  seal(variables: Readonly<Record<string, string>>): Promise<string>
  /** Throws when the text was sealed with another key, or changed. */
  open(text: string): Promise<Record<string, string>>
}

/**
 * Seals what a mail inserts, above all its code, so that who reads the queue or the database learns nothing.
 * `secret` is MAIL_SECRET: of more than 32 bytes the first 32 count.
 */
export function createSealer(secret: Uint8Array): Sealer {
  if (secret.length < KEY_BYTES) throw new RangeError(`MAIL_SECRET must have ${KEY_BYTES} bytes`)
  const key = secret.subarray(0, KEY_BYTES)
  return {
    seal: (variables) =>
      new CompactEncrypt(new TextEncoder().encode(JSON.stringify(variables)))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .encrypt(key),
    async open(text) {
      const { plaintext } = await compactDecrypt(text, key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
      })
      return Variables.parse(JSON.parse(new TextDecoder().decode(plaintext)))
    },
  }
}
