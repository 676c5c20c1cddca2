import { randomUUID } from 'node:crypto'
import { roleOf, type User, validFromOf } from '@latchkey/shared/users/user.ts'
import { SignJWT } from 'jose'
import type { Session, UserClaims } from './claims.ts'
import type { TokenKey } from './signing-keys.ts'

export interface IssueTokenOptions {
  key: Pick<TokenKey, 'header' | 'signing'>
  issuer: string
  lifetimeSeconds: number
}

export interface IssuedToken {
  token: string
  data: UserClaims
}

/** What a token says about its user. */
export type TokenUser = Pick<User, 'userid' | 'name' | 'role' | 'properties'>

export type IssueToken = ReturnType<typeof createTokenIssuer>

/**
 * Creates the function that signs a token for `user`, as read from the database at `readAt` (whole seconds since
 * the epoch). What is not given of the session begins with the token.
 */
export function createTokenIssuer({ key, issuer, lifetimeSeconds }: IssueTokenOptions) {
  return async (user: TokenUser, readAt: number, session: Partial<Session> = {}): Promise<IssuedToken> => {
    const { sid = randomUUID(), authTime = readAt, amr } = session
    const data = { userid: user.userid, name: user.name ?? '', role: roleOf(user) }
    const token = await new SignJWT({ auth_time: authTime, amr, sid, valid_from: validFromOf(user), data })
      .setProtectedHeader(key.header)
      .setIssuer(issuer)
      .setSubject(user.userid)
      .setIssuedAt(readAt)
      .setNotBefore(readAt)
      .setExpirationTime(readAt + lifetimeSeconds)
      .setJti(randomUUID())
      .sign(key.signing)
    return { token, data }
  }
}
