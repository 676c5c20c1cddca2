import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'

/** What a route asks for beside a valid token: a role, a second factor (`amr: 'mfa'`), or a login at most so long ago. */
type Demand = { role?: string; amr?: string; maxAgeSeconds?: number }
type Claims = JWTPayload & { sub: string; auth_time: number; amr?: string[]; data: { role: string } }

/** Verifies tokens of `issuer`: by `secret`, where Latchkey signs with JWT_SECRET, else by its public keys. */
export function createVerify(issuer: string, secret?: string) {
  const options = { issuer, requiredClaims: ['sub', 'exp', 'auth_time'] }
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
  const verify = (token: string) =>
    secret
      ? jwtVerify<Claims>(token, Buffer.from(secret, 'base64'), { ...options, algorithms: ['HS512'] })
      : jwtVerify<Claims>(token, keys, { ...options, algorithms: ['EdDSA', 'ES256', 'RS256'] })

  return async ({ headers: { authorization = '' } }: Request, demand: Demand = {}): Promise<Claims> => {
    const { role, amr, maxAgeSeconds = Number.POSITIVE_INFINITY } = demand
    const { payload } = await verify(authorization.replace(/^Bearer /, '')).catch(({ code = '' }) => {
      // Keys that cannot be fetched say nothing of the token.
      throw refusal(/^ERR_J(WT|WS|OSE_ALG)|NO_MATCHING_KEY/.test(code) ? 401 : 503, 'invalid_token')
    })
    if (role && payload.data.role !== role) throw refusal(403, 'insufficient_scope')
    if ((amr && !payload.amr?.includes(amr)) || Date.now() / 1000 - payload.auth_time > maxAgeSeconds)
      throw refusal(401, 'insufficient_user_authentication')
    return payload
  }
}

type Request = { headers: { authorization?: string | undefined } }

/** By the header (RFC 6750, RFC 9470), the client refreshes the token, or lets the user confirm the login. */
const refusal = (statusCode: number, code: string) =>
  Object.assign(new Error(code), { statusCode, headers: { 'www-authenticate': `Bearer error="${code}"` } })
