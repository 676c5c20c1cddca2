import { randomUUID } from 'node:crypto'
import { roleOf, type User, validFromOf } from '@latchkey/shared/users/user.ts'
import { SignJWT } from 'jose'
import type { RequestAudit } from '../audit/request-audit.ts'
import type { Claims, LoginSession, UserClaims } from './claims.ts'
import type { RefreshForm } from './refresh-token.ts'
import { requireAdmitted } from './require-admitted.ts'
import type { TokenKey } from './signing-keys.ts'

/** The origin of the request for a token. */
export type TokenOrigin = Pick<RequestAudit, 'address' | 'agent'>

/** Stores the session of a token that was issued just now. Never throws. */
export type StoreSession = (claims: Claims, origin: TokenOrigin) => Promise<void>

export interface SignTokenOptions {
  key: Pick<TokenKey, 'header' | 'signing'>
  issuer: string
  lifetimeSeconds: number
}

export interface IssuedToken {
  token: string
  data: UserClaims
}

/** The answer to a login, or to the exchange of a refresh token. */
export interface IssuedLogin extends IssuedToken {
  /** Absent for a session that ends with its access token. */
  refresh?: { token: string; expiresAt: Date; form: RefreshForm }
}

/** The login of a user who has shown everything that the account requires. */
export interface Login extends Partial<Omit<LoginSession, 'sid'>> {
  /** Where the client keeps a refresh token; undefined where it has not asked for one. */
  remember?: RefreshForm | undefined
}

/**
 * Answers a login: begins a session, with a token for `user` as read from the database at `readAt` (whole seconds since the
 * epoch), and a refresh token where one was asked for. Throws `unavailable` where such a session cannot be stored.
 */
export type IssueLogin = (
  user: TokenUser,
  readAt: number,
  origin: TokenOrigin,
  login?: Login,
) => Promise<IssuedLogin>

/** The members of a user that a token contains. */
export type TokenUser = Pick<User, 'userid' | 'name' | 'role' | 'properties'>

/** The session that a token goes on with. */
interface TokenSession extends Partial<LoginSession> {
  /** The pair of the token, where it may be issued again. */
  jti?: string
}

export type SignToken = ReturnType<typeof createTokenSigner>

/**
 * Creates the function that signs a token for `user`, as read from the database at `readAt` (whole seconds since
 * the epoch). Without a `sid` a new session begins. Throws what `requireAdmitted` throws.
 */
export function createTokenSigner({ key, issuer, lifetimeSeconds }: SignTokenOptions) {
  return async (
    user: TokenUser,
    readAt: number,
    { sid = randomUUID(), authTime = readAt, amr, jti = randomUUID() }: TokenSession = {},
  ): Promise<{ issued: IssuedToken; claims: Claims }> => {
    requireAdmitted(user, readAt * 1000)
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
    return { issued: { token, data }, claims }
  }
}

export type IssueToken = ReturnType<typeof createTokenIssuer>

/** Creates the function that signs a token, and stores its session. */
export const createTokenIssuer =
  (signToken: SignToken, storeSession: StoreSession) =>
  async (
    user: TokenUser,
    readAt: number,
    origin: TokenOrigin,
    session?: TokenSession,
  ): Promise<IssuedToken> => {
    const { issued, claims } = await signToken(user, readAt, session)
    await storeSession(claims, origin)
    return issued
  }
