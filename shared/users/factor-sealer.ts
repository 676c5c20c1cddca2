import { hkdfSync } from 'node:crypto'
import { createTextSealer } from '../secrets/sealed-text.ts'

/** Creates the functions that seal and open the secrets of second factors by FACTOR_SECRET. They also open what `previous` has sealed. */
export const createFactorSealer = (secret: Uint8Array, previous: Uint8Array | undefined) =>
  createTextSealer('FACTOR_SECRET', toKey(secret), previous && toKey(previous))

// Another key than that of the challenges, which is derived from the same secret.
const toKey = (secret: Uint8Array) => Buffer.from(hkdfSync('sha256', secret, '', 'latchkey factor', 32))
