import { randomUUID, type webcrypto } from 'node:crypto'
import { roleOf, type User, validFromOf } from '@latchkey/shared/users/user.ts'
import { SignJWT } from 'jose'
import type { Session, UserClaims } from './claims.ts'

export type SigningKey = webcrypto.CryptoKey

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
 * the epoch). Without a session, the token begins one.
 */
export function createTokenIssuer({ key, issuer, lifetimeSeconds }: IssueTokenOptions) {
  return async (user: User, readAt: number, session?: Session): Promise<IssuedToken> => {
    const { sid, authTime } = session ?? { sid: randomUUID(), authTime: readAt }
    const data = { userid: user.userid, name: user.name ?? '', role: roleOf(user) }
    const token = await new SignJWT({ auth_time: authTime, sid, valid_from: validFromOf(user), data })
      .setProtectedHeader({ alg: 'HS512', typ: 'JWT' })
      .setIssuer(issuer)
      .setSubject(user.userid)
      .setIssuedAt(readAt)
      .setNotBefore(readAt)
      .setExpirationTime(readAt + lifetimeSeconds)
      .setJti(randomUUID())
      .sign(key)
    return { token, data }
  }
}

/** Imports a secret for HS512 once, so that no request pays for it. */
export const importSigningKey = (secret: Uint8Array): Promise<SigningKey> =>
  crypto.subtle.importKey('raw', Uint8Array.from(secret), { name: 'HMAC', hash: 'SHA-512' }, false, [
    'sign',
    'verify',
  ])
