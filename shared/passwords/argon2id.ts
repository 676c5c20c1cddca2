import { hashSync, verifySync } from '@node-rs/argon2'
import type { PasswordScheme } from './scheme.ts'

/** OWASP's parameters for Argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

const CURRENT_PREFIX = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$`

/** Argon2id (RFC 9106), stored as a PHC string. */
export const argon2id: PasswordScheme = {
  recognises: (stored) => stored.startsWith('$argon2id$'),
  hash: (password) => hashSync(password.normalize('NFC'), PARAMETERS),
  verify: (password, stored) => verifySync(stored, password.normalize('NFC')),
  isCurrent: (stored) => stored.startsWith(CURRENT_PREFIX),
  decoy: `${CURRENT_PREFIX}${'A'.repeat(22)}$${'A'.repeat(43)}`,
}
