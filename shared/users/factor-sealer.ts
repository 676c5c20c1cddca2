import { hkdfSync } from 'node:crypto'
import { createTextSealer } from '../secrets/sealed-text.ts'

/** Creates the functions that seal and open the secrets of second factors by FACTOR_SECRET. They also open what `previous` has sealed. */
export const createFactorSealer = (secret: Uint8Array, previous: Uint8Array | undefined) =>
  createTextSealer('FACTOR_SECRET', toKey(secret), previous && toKey(previous))

// Another key than that of the challenges, which is derived from the same secret.
const toKey = (secret: Uint8Array) => Buffer.from(hkdfSync('sha256', secret, '', 'latchkey factor', 32))

/** The purposes of sealed texts: a secret of an authenticator app, and the hash of a recovery code. */
export const TOTP_PURPOSE = 'totp'
export const RECOVERY_PURPOSE = 'recovery'

/** Returns the text that is sealed. It names its user: one that was moved to the row of another user is refused. */
export const toSealedContent = (userid: string, purpose: string, value: string): string =>
  JSON.stringify({ userid, purpose, value })
