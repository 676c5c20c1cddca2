import { createSecretKey } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { z } from 'zod'
import type { MailVariables } from './mail-templates.ts'

const KEY_BYTES = 32
const Variables = z.record(z.string(), z.string())

export interface Sealer {
  /** Resolves with a JWE (`dir`, `A256GCM`) in compact form. */
  seal(variables: Readonly<MailVariables>): Promise<string>
  /** Throws when the text was sealed with another key, or was changed. */
  open(text: string): Promise<Record<string, string>>
}

/**
 * Seals the variables of a mail, such as its code, so that reading the queue or the database does not reveal them.
 * `secret` is MAIL_SECRET, of which the first 32 bytes are used.
 */
export function createSealer(secret: Uint8Array): Sealer {
  if (secret.length < KEY_BYTES)
    throw new RangeError(
      `MAIL_SECRET must have at least ${KEY_BYTES} bytes; create one with npm run secret ${KEY_BYTES}`,
    )
  const key = createSecretKey(secret.subarray(0, KEY_BYTES))
  return {
    seal: (variables) =>
      new CompactEncrypt(Buffer.from(JSON.stringify(variables)))
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
