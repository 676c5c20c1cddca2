import { AppError } from '@latchkey/shared/app-error.ts'
import { formatRoles } from '@latchkey/shared/users/roles.ts'
import type { FastifyRequest, onRequestAsyncHookHandler, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Claims } from './claims.ts'
import { revokedToken, type TokenValidity } from './token-validity.ts'
import type { TokenVerifier } from './verify-token.ts'

/**
 * What a route requires: any valid token, the token of a user who now has the role, or any of several, or a token with
 * a valid signature that has not expired. The handler of a `signed` route checks whether the token was revoked.
 */
export type AuthMarker = 'authenticated' | 'signed' | { role: string | readonly string[] }

declare module 'fastify' {
  interface RouteShorthandOptions {
    auth?: AuthMarker
  }
  interface RouteOptions {
    auth?: AuthMarker
  }
  interface FastifyContextConfig {
    isProtected?: boolean
  }
  interface FastifyRequest {
    /**
     * The payload of the caller's token, in routes with an `auth` marker; `jwt.data` is user id, name and role. The role
     * is the one that the user has now.
     */
    jwt: Claims
  }
}

export interface AuthenticateOptions {
  verifier: TokenVerifier
  validity: Pick<TokenValidity, 'recall' | 'check'>
  auditOf: (request: FastifyRequest) => RequestAudit
  /** The roles that a route may require. */
  roles: readonly string[]
}

/** Protects every route with an `auth` marker. All others are public, and ignore a token that is sent to them. */
export const authenticate = fp<AuthenticateOptions>(
  async (app, { verifier, validity, auditOf, roles: declared }) => {
    app.decorateRequest('jwt', null as unknown as Claims)
    const guards = new Map<string, onRequestHookHandler>()

    app.addHook('onRoute', (route) => {
      if (route.auth === undefined) return
      const guard = guardOf(route.auth, route.url)
      // The HEAD route that Fastify adds to a GET arrives here with the guard in place.
      const others = [route.onRequest ?? []]
        .flat()
        .filter((hook) => hook !== guard) as onRequestAsyncHookHandler[]
      route.onRequest = [guard as unknown as onRequestAsyncHookHandler, ...others]
      route.config = { ...route.config, isProtected: true }
    })

    function guardOf(marker: AuthMarker, url: string): onRequestHookHandler {
      if (marker === 'signed') return signedGuard
      const roles = requiredRoles(marker, url, declared)
      const guard = guards.get(String(roles)) ?? createGuard(roles)
      guards.set(String(roles), guard)
      return guard
    }

    const signedGuard: onRequestHookHandler = (request, _reply, done) => {
      const token = bearerToken(request)
      if (token === undefined) return done(missingToken(request))
      const claims = verifier.recall(token) ?? verifier.verify(token)
      Promise.resolve(claims).then((signed) => done(admit(request, signed, undefined)), done)
    }

    /** On the hot path, where the token and its user are remembered, it calls back without a promise. */
    function createGuard(roles: readonly string[] | undefined): onRequestHookHandler {
      return (request, _reply, done) => {
        const usual = afterScheme(request)
        const recalled = usual === undefined ? undefined : verifier.recall(usual)
        const token = recalled ? usual : bearerToken(request)
        if (token === undefined) return done(missingToken(request))
        const claims = token === usual ? recalled : verifier.recall(token)
        const current = claims && validity.recall(claims)
        if (current === undefined) {
          check(request, token, claims).then((fresh) => done(admit(request, fresh, roles)), done)
          return
        }
        done(current === 'revoked' ? revokedToken() : admit(request, current, roles))
      }
    }

    async function check(
      request: FastifyRequest,
      token: string,
      remembered: Claims | undefined,
    ): Promise<Claims> {
      return validity.check(remembered ?? (await verifier.verify(token)), auditOf(request))
    }
  },
  { name: 'authenticate' },
)

function requiredRoles(
  marker: Exclude<AuthMarker, 'signed'>,
  url: string,
  declared: readonly string[],
): readonly string[] | undefined {
  if (marker === 'authenticated') return undefined
  const roles = typeof marker === 'object' && marker !== null ? [marker.role ?? []].flat() : []
  // A misspelt marker must not leave a route open, nor require an empty role.
  if (roles.length === 0 || !roles.every(Boolean))
    throw new Error(
      `The route ${url} has an auth marker that is neither 'authenticated', 'signed' nor { role }`,
    )
  const unknown = roles.find((role) => !declared.includes(role))
  if (unknown !== undefined)
    throw new Error(
      `The route ${url} requires the role ${unknown}, which is not declared: add it to ROLES in shared/users/roles.ts, or to the roles of the extension`,
    )
  return roles
}

function admit(
  request: FastifyRequest,
  claims: Claims,
  roles: readonly string[] | undefined,
): AppError | undefined {
  if (roles && !roles.includes(claims.data.role))
    return new AppError('forbidden', `The role ${formatRoles(roles)} is required`)
  request.jwt = claims
  return undefined
}

const USUAL_SCHEME = 'Bearer '

/** What follows the scheme as clients usually write it. The characters of a token that is recalled need no check. */
const afterScheme = ({ headers: { authorization = '' } }: FastifyRequest): string | undefined =>
  authorization.startsWith(USUAL_SCHEME) ? authorization.slice(USUAL_SCHEME.length) : undefined

/** RFC 6750 §2.1: the scheme is compared without regard to case, the token is base64url text with dots. */
const BEARER = /^Bearer +([\w~+/.-]+=*)$/i

const bearerToken = ({ headers }: FastifyRequest): string | undefined =>
  BEARER.exec(headers.authorization ?? '')?.[1]

const missingToken = ({ headers }: FastifyRequest) =>
  headers.authorization === undefined
    ? new AppError('invalid_token', 'Send a token as Authorization: Bearer <token>')
    : new AppError('invalid_token', 'The Authorization header holds no bearer token')
