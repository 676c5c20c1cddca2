import { generatePrivateKey, KEY_KINDS } from '@latchkey/shared/secrets/private-key.ts'
import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { ArgumentError, parseWholeNumber } from './fault.ts'

export const MAX_SECRET_BYTES = 65_536

/** Secrets for JWT_SECRET (64 bytes), MAIL_SECRET and FACTOR_SECRET (32 bytes), and keys for JWT_PRIVATE_KEY. */
export class Secrets {
  /** Prints a new secret in base64, of `bytes` random bytes. */
  generate(bytes = '64'): void {
    console.log(generateSecret(parseWholeNumber('bytes', bytes, 1, MAX_SECRET_BYTES)))
  }

  /** Prints a new private key in PEM format: `ed25519`, `es256` or `rs256`. */
  generateKey(kind = 'ed25519'): void {
    const known = KEY_KINDS.find((each) => each === kind)
    if (!known)
      throw new ArgumentError(
        `The kind of key ${JSON.stringify(kind)} does not exist; use one of ${KEY_KINDS.join(', ')}`,
      )
    process.stdout.write(generatePrivateKey(known))
  }
}
