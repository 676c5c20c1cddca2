import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { parseWholeNumber } from './console/whole-number.ts'

export const MAX_SECRET_BYTES = 65_536

/** Secrets for JWT_SECRET (64 bytes) and MAIL_SECRET (32 bytes). */
export class Secrets {
  /** Prints a new secret in base64, of `bytes` random bytes. */
  generate(bytes = '64'): void {
    console.log(generateSecret(parseWholeNumber('bytes', bytes, 1, MAX_SECRET_BYTES)))
  }
}
