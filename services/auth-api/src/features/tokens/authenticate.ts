import { AppError } from '@latchkey/shared/app-error.ts'
import type { FastifyRequest, onRequestAsyncHookHandler, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { Claims } from './claims.ts'
import { revokedToken, type TokenValidity } from './token-validity.ts'
import type { TokenVerifier } from './verify-token.ts'

/** What a route requires: any valid token, or the token of a user who has this role now. */
export type AuthMarker = 'authenticated' | { role: string }

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
  validity: TokenValidity
}

/** Protects every route with an `auth` marker. All others are public, and ignore a token that is sent to them. */
export const authenticate = fp<AuthenticateOptions>(
  async (app, { verifier, validity }) => {
    app.decorateRequest('jwt', null as unknown as Claims)
    const guards = new Map<string, onRequestHookHandler>()

    app.addHook('onRoute', (route) => {
      if (route.auth === undefined) return
      const role = requiredRole(route.auth, route.url)
      const guard = guards.get(role ?? '') ?? createGuard(role)
      guards.set(role ?? '', guard)
      // The HEAD route that Fastify adds to a GET arrives here with the guard in place.
      const others = [route.onRequest ?? []]
        .flat()
        .filter((hook) => hook !== guard) as onRequestAsyncHookHandler[]
      route.onRequest = [guard as unknown as onRequestAsyncHookHandler, ...others]
      route.config = { ...route.config, isProtected: true }
    })

    /** On the hot path, where the token and its user are remembered, it calls back without a promise. */
    function createGuard(role: string | undefined): onRequestHookHandler {
      return (request, _reply, done) => {
        const token = bearerToken(request)
        if (token === undefined) return done(missingToken(request))
        const claims = verifier.recall(token)
        const current = claims && validity.recall(claims)
        if (current === undefined) {
          check(token, claims).then((fresh) => done(admit(request, fresh, role)), done)
          return
        }
        done(current === 'revoked' ? revokedToken() : admit(request, current, role))
      }
    }

    async function check(token: string, remembered: Claims | undefined): Promise<Claims> {
      return validity.check(remembered ?? (await verifier.verify(token)))
    }
  },
  { name: 'authenticate' },
)

function requiredRole(marker: AuthMarker, url: string): string | undefined {
  if (marker === 'authenticated') return undefined
  // A misspelt marker must not leave a route open, nor require an empty role.
  if (typeof marker === 'object' && marker !== null && marker.role) return marker.role
  throw new Error(`The route ${url} has an auth marker that is neither 'authenticated' nor { role }`)
}

function admit(request: FastifyRequest, claims: Claims, role: string | undefined): AppError | undefined {
  if (role !== undefined && claims.data.role !== role)
    return new AppError('forbidden', `The role ${role} is required`)
  request.jwt = claims
  return undefined
}

/** RFC 6750 §2.1: the scheme is compared without regard to case, the token is base64url text with dots. */
const BEARER = /^Bearer +([\w~+/.-]+=*)$/i

const bearerToken = ({ headers }: FastifyRequest): string | undefined =>
  BEARER.exec(headers.authorization ?? '')?.[1]

const missingToken = ({ headers }: FastifyRequest) =>
  headers.authorization === undefined
    ? new AppError('invalid_token', 'Send a token as Authorization: Bearer <token>')
    : new AppError('invalid_token', 'The Authorization header holds no bearer token')
