import { hash } from 'node:crypto'
import { z } from 'zod'
import type { RequestAudit } from '../audit/request-audit.ts'

/** The specification's claims about the user. An adopted table may contain any 128 bits as an id. */
const UserClaims = z.object({ userid: z.guid(), name: z.string(), role: z.string().min(1) })

/** The whole payload of a Latchkey token (RFC 7519 §4.1 and `data`). Times are seconds since the epoch. */
export const Claims = z.object({
  iss: z.string(),
  sub: z.guid(),
  iat: z.number(),
  nbf: z.number(),
  exp: z.number(),
  /** The pair: what the answers to a repeated refresh have in common. */
  jti: z.string(),
  /** The time of the login (OpenID Connect Core §2). */
  auth_time: z.number(),
  /** The methods by which the user logged in (RFC 8176); absent when only the password was used. */
  amr: z.array(z.string()).optional(),
  /** The session: what the login and the refreshes after it have in common. */
  sid: z.string(),
  /** The user's valid-from time when the token was issued. A later one ends the token. */
  valid_from: z.number(),
  data: UserClaims,
})

/**
 * Returns the `jti` of the successors of the token `jti`. It is the same whenever the token is refreshed: a lost answer leaves
 * no second branch of the session.
 */
export const successorOf = (jti: string): string =>
  hash('sha256', `successor ${jti}`, 'base64url').slice(0, 36)

/** The login session of a token, which a refresh passes on to the next token. */
export interface LoginSession {
  sid: string
  /** The time of the login, in seconds since the epoch. */
  authTime: number
  /** The methods by which the user logged in; undefined when only the password was used. */
  amr: readonly string[] | undefined
}

export type UserClaims = z.output<typeof UserClaims>
export type Claims = z.output<typeof Claims>

/** The session of a request, by whatever token of it, and the audit trail of the request. */
export interface SessionCaller {
  claims: Pick<Claims, 'sub' | 'jti' | 'sid' | 'valid_from' | 'exp'>
  audit: RequestAudit
}

/** The token of a request and its audit trail: what a change by a logged-in user needs. */
export interface Caller {
  claims: Claims
  audit: RequestAudit
}
