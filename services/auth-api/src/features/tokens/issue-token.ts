import { randomUUID } from 'node:crypto'
import { roleOf, type User, validFromOf } from '@latchkey/shared/users/user.ts'
import type { Claims, Session, UserClaims } from './claims.ts'
import { type SigningKey, signatureOf, TOKEN_HEADER } from './signing-key.ts'

export interface IssueTokenOptions {
  key: SigningKey
  issuer: string
  lifetimeSeconds: number
}

export interface IssuedToken {
  token: string
  data: UserClaims
}

export type IssueToken = ReturnType<typeof createTokenIssuer>

/**
 * Creates the function that signs an HS512 token for `user`, as read from the database at `readAt` (whole seconds since
 * the epoch). Not at the moment of signing: a change after the read must invalidate this token. Without a session, the
 * token begins one.
 */
export function createTokenIssuer({ key, issuer, lifetimeSeconds }: IssueTokenOptions) {
  return (user: User, readAt: number, session?: Session): IssuedToken => {
    const { sid, authTime } = session ?? { sid: randomUUID(), authTime: readAt }
    const data = { userid: user.userid, name: user.name ?? '', role: roleOf(user) }
    // The valid-from mark may be a second or two ahead, and a token issued after the change must be valid.
    const issuedAt = Math.max(readAt, validFromOf(user))
    const token = write(key, {
      auth_time: authTime,
      sid,
      data,
      iss: issuer,
      sub: user.userid,
      iat: issuedAt,
      nbf: readAt,
      exp: readAt + lifetimeSeconds,
      jti: randomUUID(),
    })
    return { token, data }
  }
}

/** JWS Compact Serialization (RFC 7515 §7.1). jose would sign in libuv's pool, where a login waits for others. */
function write(key: SigningKey, claims: Claims): string {
  const signed = `${TOKEN_HEADER}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
  return `${signed}.${signatureOf(key, signed)}`
}
