import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { MailVariables } from './mail-templates.ts'

const KEY_BYTES = 32
/** Of the initialization vector (RFC 7518 §5.3). */
const IV_BYTES = 12
const HEADER = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM' })).toString('base64url')
/** What `encrypt` returns: the parts have the lengths of a 12-byte vector and a 16-byte tag. */
const OWN_FORM = new RegExp(`^${HEADER}\\.\\.([\\w-]{16})\\.([\\w-]+)\\.([\\w-]{22})$`)
const Variables = z.record(z.string(), z.string())

export interface Sealer {
  /** A JWE (`dir`, `A256GCM`) in compact form. */
  seal(variables: Readonly<MailVariables>): string
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
    seal: (variables) => encrypt(key, JSON.stringify(variables)),
    open: async (text) =>
      Variables.parse(JSON.parse((await decryptOwn(key, text)) ?? (await decrypt(key, text)))),
  }
}

// jose imports the key, and encrypts and decrypts, in libuv's pool; for a few hundred bytes the turns cost more than the work.

/** JWE Compact Serialization (RFC 7516 §7.1). */
function encrypt(key: KeyObject, plaintext: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(HEADER))
  const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
  const parts = [iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString('base64url'))
  return [HEADER, '', ...parts].join('.')
}

/** The plaintext of what `encrypt` returned; undefined for any other form. Throws as jose does. */
async function decryptOwn(key: KeyObject, text: string): Promise<string | undefined> {
  const [, iv = '', ciphertext = '', tag = ''] = OWN_FORM.exec(text) ?? []
  if (!iv) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'))
    .setAAD(Buffer.from(HEADER))
    .setAuthTag(Buffer.from(tag, 'base64url'))
  try {
    return Buffer.concat([decipher.update(ciphertext, 'base64url'), decipher.final()]).toString()
  } catch (error) {
    const { errors } = await import('jose')
    throw new errors.JWEDecryptionFailed(undefined, { cause: error })
  }
}

async function decrypt(key: KeyObject, text: string): Promise<string> {
  // Only for what another program sealed.
  const { compactDecrypt } = await import('jose')
  const { plaintext } = await compactDecrypt(text, key, {
    keyManagementAlgorithms: ['dir'],
    contentEncryptionAlgorithms: ['A256GCM'],
  })
  return new TextDecoder().decode(plaintext)
}
