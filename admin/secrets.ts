import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { parseWholeNumber } from './console/whole-number.ts'

/** Secrets for JWT_SECRET (64 bytes) and MAIL_SECRET (32 bytes). */
export class Secrets {
  /** Prints a fresh base64 secret of that many random bytes. */
  generate(bytes = '64'): void {
    console.log(generateSecret(parseWholeNumber('bytes', bytes, 1, 65_536)))
  }
}
