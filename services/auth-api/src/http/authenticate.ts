import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { formatRoles } from '@latchkey/shared/users/roles.ts'
import { didYouMean } from '@latchkey/text/closest-name.ts'
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { Claims } from '../tokens/claims.ts'
import { isRefreshToken } from '../tokens/refresh-token.ts'
import type { RequireLogin } from '../tokens/require-login.ts'
import type { TokenValidity } from '../tokens/token-validity.ts'
import type { TokenVerifier } from '../tokens/verify-token.ts'

/**
 * The guard of a route: none, any valid token, a token with what `RouteRequirements` say, or, for `signed`, a token with
 * a valid signature that has not expired. The handler of a `signed` route checks whether it was revoked.
 */
export type RouteGuard = 'public' | 'authenticated' | 'signed' | RouteRequirements

export interface RouteRequirements {
  /** The user must now have this role, or one of several. */
  role?: string | readonly string[]
  /**
   * `true`: the user must have logged in by a second factor. `enrolling`, for routes of Latchkey only: a user whose role needs
   * a second factor may call it without one.
   */
  secondFactor?: true | 'enrolling'
  /** The greatest age of the user's login. */
  maxAgeSeconds?: number
}

/** The guard of routes that a user whose role needs a second factor may call without one: to add one, or to log out. */
export const FACTOR_NOT_YET_REQUIRED = { secondFactor: 'enrolling' } as const

declare module 'fastify' {
  interface RouteShorthandOptions {
    auth?: RouteGuard
  }
  interface RouteOptions {
    auth?: RouteGuard
  }
  interface FastifyContextConfig {
    isProtected?: boolean
    /** True where a request without an Authorization header is let through, since it may have a refresh token: the handler checks. */
    acceptsRefreshToken?: boolean
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
  validity: Pick<TokenValidity, 'requireValid'>
  /** The roles that a route may require. */
  roles: readonly string[]
  /** Throws where the login of a token does not suffice. */
  requireLogin: RequireLogin
  /** The roles that need a second factor on every route. */
  secondFactorRoles: readonly string[]
  /** True where users can have a second factor. */
  hasSecondFactor: boolean
}

/** Protects every route with another option `auth` than `public`. A public route ignores a token that is sent to it. */
export const authenticate = fp<AuthenticateOptions>(
  async (app, options) => {
    const { verifier, validity, requireLogin, secondFactorRoles } = options
    app.decorateRequest('jwt', null as unknown as Claims)

    app.addHook('onRoute', (route) => {
      if (!requiresToken(route.auth)) return
      const hooks = [route.onRequest ?? []].flat() as onRequestAsyncHookHandler[]
      // The HEAD route that Fastify adds to a GET has its guard already. Checking a token twice changes nothing.
      route.onRequest = [createGuard(route.auth, route.url), ...hooks]
      route.config = { ...route.config, isProtected: true }
    })

    function createGuard(required: Exclude<RouteGuard, 'public'>, url: string): onRequestAsyncHookHandler {
      const { role, secondFactor, maxAgeSeconds } = readRequirements(required, url, options)
      const roles = role === undefined ? undefined : [role].flat()
      return async (request) => {
        const { authorization } = request.headers
        if (authorization === undefined && request.routeOptions.config.acceptsRefreshToken) return
        const signed = await verifier.verify(bearerToken(request))
        const claims = required === 'signed' ? signed : await validity.requireValid(signed)
        if (roles && !roles.includes(claims.data.role))
          throw new AppError('forbidden', `The role ${formatRoles(roles)} is required`)
        const roleNeedsFactor = required !== 'signed' && secondFactorRoles.includes(claims.data.role)
        requireLogin(claims, {
          secondFactor: secondFactor === true || (roleNeedsFactor && !secondFactor),
          maxAgeSeconds,
        })
        request.jwt = claims
      }
    }
  },
  { name: 'authenticate' },
)

/** True where a route with that option answers 401 without a token. */
export const requiresToken = (auth: RouteGuard | undefined): auth is Exclude<RouteGuard, 'public'> =>
  auth !== undefined && auth !== 'public'

const RoleName = z.string().min(1)
const Requirements = z
  .strictObject({
    role: z.union([RoleName, z.array(RoleName).min(1).readonly()]),
    secondFactor: z.literal([true, 'enrolling']),
    maxAgeSeconds: z.int().positive(),
  })
  .partial()
  .refine((given) => Object.values(given).length > 0 && !Object.values(given).includes(undefined))

/** Throws for an invalid `auth` option: a misspelt one must not leave a route open, nor require an empty role. */
function readRequirements(
  required: Exclude<RouteGuard, 'public'>,
  url: string,
  { roles: declared, hasSecondFactor }: Pick<AuthenticateOptions, 'roles' | 'hasSecondFactor'>,
): RouteRequirements {
  if (required === 'authenticated' || required === 'signed') return {}
  if (!Requirements.safeParse(required).success)
    throw new Error(
      `The route ${url} has an auth option that is neither 'authenticated', { role, secondFactor, maxAgeSeconds } nor 'public'`,
    )
  const { role = [], secondFactor } = required
  if (secondFactor === true && !hasSecondFactor)
    throw new Error(`The route ${url} requires a second factor, which nobody can have: set SECOND_FACTOR=on`)
  const unknown = [role].flat().find((each) => !declared.includes(each))
  if (unknown !== undefined)
    throw new Error(
      `The route ${url} requires the role ${unknown}, which is not declared${didYouMean(unknown, declared)}: add it to the roles of the extension, or to ROLES in shared/users/roles.ts for a route of Latchkey`,
    )
  return required
}

/** RFC 6750 §2.1: the scheme is compared without regard to case, the token is base64url text with dots. */
const BEARER = /^Bearer +([\w~+/.-]+=*)$/i

function bearerToken({ headers: { authorization } }: FastifyRequest): string {
  if (authorization === undefined)
    throw new AppError('invalid_token', 'The request has no token', { reason: 'token_missing' })
  const [, token] = BEARER.exec(authorization) ?? []
  if (token === undefined)
    throw new AppError('invalid_token', 'The Authorization header holds no bearer token', {
      reason: 'token_missing',
    })
  if (isRefreshToken(token))
    throw new AppError('invalid_token', 'The Authorization header holds a refresh token', {
      reason: 'refresh_token_misplaced',
    })
  return token
}
