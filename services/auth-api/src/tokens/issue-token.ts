import { randomUUID } from 'node:crypto'
import { roleOf, type User, validFromOf } from '@latchkey/shared/users/user.ts'
import { SignJWT } from 'jose'
import type { RequestAudit } from '../audit/request-audit.ts'
import type { Claims, LoginSession, UserClaims } from './claims.ts'
import type { TokenKey } from './signing-keys.ts'

/** The origin of the request for a token. */
export type TokenOrigin = Pick<RequestAudit, 'address' | 'agent'>

/** Stores the session of a token that was issued just now. Never throws. */
export type StoreSession = (claims: Claims, origin: TokenOrigin) => Promise<void>

export interface IssueTokenOptions {
  key: Pick<TokenKey, 'header' | 'signing'>
  issuer: string
  lifetimeSeconds: number
  storeSession: StoreSession
}

export interface IssuedToken {
  token: string
  data: UserClaims
}

/** The members of a user that a token contains. */
export type TokenUser = Pick<User, 'userid' | 'name' | 'role' | 'properties'>

/** The session that a token goes on with. */
interface TokenSession extends Partial<LoginSession> {
  /** The pair of the token, where it may be issued again. */
  jti?: string
}

export type IssueToken = ReturnType<typeof createTokenIssuer>

/**
 * Creates the function that signs a token for `user`, as read from the database at `readAt` (whole seconds since
 * the epoch), and stores its session. Without a `sid` a new one begins.
 */
export function createTokenIssuer({ key, issuer, lifetimeSeconds, storeSession }: IssueTokenOptions) {
  return async (
    user: TokenUser,
    readAt: number,
    origin: TokenOrigin,
    { sid = randomUUID(), authTime = readAt, amr, jti = randomUUID() }: TokenSession = {},
  ): Promise<IssuedToken> => {
    const data = { userid: user.userid, name: user.name ?? '', role: roleOf(user) }
    const claims: Claims = {
      iss: issuer,
      sub: user.userid,
      iat: readAt,
      nbf: readAt,
      exp: readAt + lifetimeSeconds,
      jti,
      auth_time: authTime,
      amr: amr && [...amr],
      sid,
      valid_from: validFromOf(user),
      data,
    }
    const token = await new SignJWT(claims).setProtectedHeader(key.header).sign(key.signing)
    await storeSession(claims, origin)
    return { token, data }
  }
}
