import { createSecretKey } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'

const KEY_BYTES = 32

export type TextSealer = ReturnType<typeof createTextSealer>

/**
 * Creates the functions that seal and open texts as JWE (`dir`, `A256GCM`) in compact form. The key is the first 32 bytes of
 * a secret. They also open what `previous` has sealed. Errors name the setting `name`.
 */
export function createTextSealer(name: string, secret: Uint8Array, previous?: Uint8Array) {
  const key = toKey(name, secret)
  const previousKey = previous && toKey(name, previous)

  async function open(sealed: string, by: typeof key): Promise<string> {
    const { plaintext } = await compactDecrypt(sealed, by, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    })
    return new TextDecoder().decode(plaintext)
  }

  return {
    seal: (text: string): Promise<string> =>
      new CompactEncrypt(Buffer.from(text)).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(key),
    /** Throws jose's error when the text was sealed with another key, or was changed. */
    open: (sealed: string): Promise<string> =>
      open(sealed, key).catch((error) => {
        if (!previousKey) throw error
        return open(sealed, previousKey)
      }),
    /** Seals again what `previous` has sealed; undefined for what needs no change. Throws like `open`. */
    async reseal(sealed: string): Promise<string | undefined> {
      const isCurrent = await open(sealed, key).then(
        () => true,
        () => false,
      )
      return isCurrent ? undefined : this.seal(await this.open(sealed))
    },
  }
}

function toKey(name: string, secret: Uint8Array) {
  if (secret.length < KEY_BYTES)
    throw new RangeError(
      `${name} must have at least ${KEY_BYTES} bytes; create one with npm run secret ${KEY_BYTES}`,
    )
  return createSecretKey(secret.subarray(0, KEY_BYTES))
}
