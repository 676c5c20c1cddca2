import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import type { ProblemType } from '@latchkey/shared/extensions/problem-type.ts'
import type { RouteOptions } from 'fastify'
import { requiresToken } from '../authenticate.ts'
import { fromStatus, type Problem, toProblem, toProblemOf } from '../problem-details.ts'

declare module 'fastify' {
  interface RouteShorthandOptions {
    problems?: readonly (ErrorCode | ProblemType)[]
  }
  interface RouteOptions {
    /** The errors of this route, for its description. Those that follow from `auth`, a body or a limit are added to them. */
    problems?: readonly (ErrorCode | ProblemType)[]
  }
  interface FastifyContextConfig {
    /** True where an orchestrator probes the route, which then has no limit and always answers. */
    isProbe?: boolean
  }
}

/** Further members in the examples of those problems of which clients read more than type and title. */
const MEMBERS: Partial<Record<ErrorCode, Record<string, unknown>>> = {
  invalid_input: {
    detail: 'The body is not valid',
    errors: [{ path: 'email', message: 'must be one e-mail address' }],
  },
  insufficient_user_authentication: { acr_values: 'urn:latchkey:acr:second-factor' },
  second_factor_required: {
    challenge: 'eyJ0eXAiOiJjaGFsbGVuZ2UifQ.e30.c2lnbmF0dXJl',
    factors: ['totp'],
  },
  account_banned: { banned_until: '2026-12-31T18:00:00.000Z' },
  password_refused: { violations: [{ rule: 'MINIMUM_CHARS', number: 12 }] },
}

/** Refusals that depend on the path or the connection, not on an operation. */
export const protocolRefusals = (): Problem[] => [404, 405, 408, 431].map((status) => fromStatus(status))

/** Every problem that a route can answer with, as an example of each. */
export function refusalsOf(route: RouteOptions): Problem[] {
  const methods = [route.method].flat()
  const hasBody = methods.some((method) => method !== 'GET' && method !== 'HEAD')
  return [
    ...codesOf(route).map(toExample),
    ...typesOf(route).map(toProblemOf),
    fromStatus(400, hasBody ? 'FST_ERR_CTP_INVALID_JSON_BODY' : 'HOST_MISSING'),
    ...(hasBody ? [fromStatus(413, 'FST_ERR_CTP_BODY_TOO_LARGE')] : []),
    fromStatus(415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE'),
    fromStatus(500),
  ]
}

const typesOf = ({ problems = [] }: RouteOptions): ProblemType[] =>
  problems.filter((problem) => typeof problem !== 'string')

function codesOf({ auth, schema, config, problems = [] }: RouteOptions): ErrorCode[] {
  const codes = new Set<ErrorCode>(problems.filter((problem) => typeof problem === 'string'))
  if (schema?.body ?? schema?.params ?? schema?.querystring) codes.add('invalid_input')
  if (requiresToken(auth)) codes.add('invalid_token')
  if (typeof auth === 'object' && auth.role) codes.add('forbidden')
  if (typeof auth === 'object' && (auth.secondFactor === true || auth.maxAgeSeconds))
    codes.add('insufficient_user_authentication')
  if (!config?.isProbe) codes.add('rate_limited').add('unavailable')
  return [...codes]
}

function toExample(code: ErrorCode): Problem {
  const { detail: _, ...problem } = toProblem(new AppError(code, ''))
  return { ...problem, ...MEMBERS[code] }
}
