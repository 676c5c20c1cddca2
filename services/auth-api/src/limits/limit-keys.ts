import { createHmac, createSecretKey } from 'node:crypto'
import { fold } from '@latchkey/shared/users/user.ts'

/** The sender of a request, as the limits see it. */
export interface LimitedClient {
  /** The address that it counts as. */
  address: string
}

/** Creates the keys of accounts, which are keyed hashes: no counter contains a name. */
export function createAccountKey(secret: Uint8Array): (account: string) => string {
  // Bytes would be imported for each hash, which takes longer than the hash.
  const key = createSecretKey(createHmac('sha256', secret).update('latchkey rate limit').digest())
  return (account) => createHmac('sha256', key).update(fold(account)).digest('base64url')
}

/** The key of an account at an address; both are keys. */
export const pairKey = (address: string, account: string): string => `${address} ${account}`
