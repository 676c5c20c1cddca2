import { createHmac, hash, randomBytes } from 'node:crypto'

/** Where a client keeps its refresh token: by itself, or in a cookie that no script can read. */
export type RefreshForm = 'body' | 'cookie'

const BYTES = 32
/** The first half of a refresh token names its session, and is the same in all of its tokens; the second half is new in each. */
const SESSION_BYTES = BYTES / 2

/** Returns the first refresh token of a session: 256 random bits. */
export const createRefreshToken = (): string => randomBytes(BYTES).toString('base64url')

/** Returns the random text of a session from which, with a token, the one after it is derived. */
export const createRefreshSalt = (): string => randomBytes(BYTES).toString('base64url')

/** True for a text that can be a refresh token. */
export const isRefreshToken = (text: string): boolean => {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === BYTES && bytes.toString('base64url') === text
}

/** Returns the `sid` of the session of a refresh token. */
export const sidOf = (token: string): string =>
  hash(
    'sha256',
    `sid ${Buffer.from(token, 'base64url').toString('hex', 0, SESSION_BYTES)}`,
    'base64url',
  ).slice(0, 36)

/** Returns the token after `token`. It is the same whenever the token is refreshed; without the token, the salt tells nothing. */
export const nextRefreshToken = (token: string, salt: string): string =>
  Buffer.concat([
    Buffer.from(token, 'base64url').subarray(0, SESSION_BYTES),
    createHmac('sha256', salt).update(token).digest().subarray(0, SESSION_BYTES),
  ]).toString('base64url')

/** Returns what the database has of a refresh token. */
export const refreshHashOf = (token: string): string => hash('sha256', token)

/** Returns the `jti` of the access tokens that are issued together with the refresh token of this hash. */
export const pairOf = (refreshHash: string): string =>
  hash('sha256', `pair of ${refreshHash}`, 'base64url').slice(0, 36)
