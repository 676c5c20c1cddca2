import { AppError } from '@latchkey/shared/app-error.ts'
import { formatRoles } from '@latchkey/shared/users/roles.ts'
import { didYouMean } from '@latchkey/text/closest-name.ts'
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { RequestAudit } from '../audit/request-audit.ts'
import type { Claims } from '../tokens/claims.ts'
import type { TokenValidity } from '../tokens/token-validity.ts'
import type { TokenVerifier } from '../tokens/verify-token.ts'

/**
 * What a route requires: nothing; any valid token; the token of a user who now has the role, or one of several; or, for
 * `signed`, a token with a valid signature that has not expired. The handler of a `signed` route checks whether it was
 * revoked.
 */
export type RouteGuard = 'public' | 'authenticated' | 'signed' | { role: string | readonly string[] }

declare module 'fastify' {
  interface RouteShorthandOptions {
    auth?: RouteGuard
  }
  interface RouteOptions {
    auth?: RouteGuard
  }
  interface FastifyContextConfig {
    isProtected?: boolean
  }
  interface FastifyRequest {
    /**
     * The payload of the caller's token, in routes with the option `auth`; `jwt.data` is user id, name and role. The role
     * is the one that the user has now.
     */
    jwt: Claims
  }
}

export interface AuthenticateOptions {
  verifier: TokenVerifier
  validity: Pick<TokenValidity, 'check'>
  auditOf: (request: FastifyRequest) => RequestAudit
  /** The roles that a route may require. */
  roles: readonly string[]
}

/** Protects every route with another option `auth` than `public`. A public route ignores a token that is sent to it. */
export const authenticate = fp<AuthenticateOptions>(
  async (app, { verifier, validity, auditOf, roles: declared }) => {
    app.decorateRequest('jwt', null as unknown as Claims)

    const guards = new WeakSet<onRequestAsyncHookHandler>()

    app.addHook('onRoute', (route) => {
      if (!requiresToken(route.auth)) return
      const hooks = [route.onRequest ?? []].flat() as onRequestAsyncHookHandler[]
      // The HEAD route that Fastify adds to a GET arrives here with the guard in place.
      if (hooks[0] && guards.has(hooks[0])) return
      const guard = createGuard(route.auth, route.url)
      guards.add(guard)
      route.onRequest = [guard, ...hooks]
      route.config = { ...route.config, isProtected: true }
    })

    function createGuard(required: Exclude<RouteGuard, 'public'>, url: string): onRequestAsyncHookHandler {
      const roles = required === 'signed' ? undefined : requiredRoles(required, url, declared)
      return async (request) => {
        const signed = await verifier.verify(bearerToken(request))
        const claims = required === 'signed' ? signed : await validity.check(signed, auditOf(request))
        if (roles && !roles.includes(claims.data.role))
          throw new AppError('forbidden', `The role ${formatRoles(roles)} is required`)
        request.jwt = claims
      }
    }
  },
  { name: 'authenticate' },
)

/** Whether a route with that option answers 401 without a token. */
export const requiresToken = (auth: RouteGuard | undefined): auth is Exclude<RouteGuard, 'public'> =>
  auth !== undefined && auth !== 'public'

function requiredRoles(
  required: Exclude<RouteGuard, 'public' | 'signed'>,
  url: string,
  declared: readonly string[],
): readonly string[] | undefined {
  if (required === 'authenticated') return undefined
  const roles = typeof required === 'object' && required !== null ? [required.role ?? []].flat() : []
  // A misspelt option must not leave a route open, nor require an empty role.
  if (roles.length === 0 || !roles.every(Boolean))
    throw new Error(
      `The route ${url} has an auth option that is neither 'authenticated', { role } nor 'public'`,
    )
  const unknown = roles.find((role) => !declared.includes(role))
  if (unknown !== undefined)
    throw new Error(
      `The route ${url} requires the role ${unknown}, which is not declared${didYouMean(unknown, declared)}: add it to the roles of the extension, or to ROLES in shared/users/roles.ts for a route of Latchkey`,
    )
  return roles
}

/** RFC 6750 §2.1: the scheme is compared without regard to case, the token is base64url text with dots. */
const BEARER = /^Bearer +([\w~+/.-]+=*)$/i

function bearerToken({ headers: { authorization } }: FastifyRequest): string {
  if (authorization === undefined)
    throw new AppError('invalid_token', 'Send a token as Authorization: Bearer <token>')
  const [, token] = BEARER.exec(authorization) ?? []
  if (token === undefined)
    throw new AppError('invalid_token', 'The Authorization header holds no bearer token')
  return token
}
