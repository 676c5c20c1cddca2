import { AppError, type ErrorCode } from '@latchkey/shared/app-error.ts'
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
    /** Whether an orchestrator probes the route, which then has no limit and always answers. */
    isProbe?: boolean
  }
}

/** The example of each code: what its problem says beside the title. */
const EXAMPLES: Partial<Record<ErrorCode, { detail: string; members?: Record<string, unknown> }>> = {
  invalid_input: {
    detail: 'The body is not valid',
    members: { errors: [{ path: 'email', message: 'must be one e-mail address' }] },
  },
  invalid_credentials: { detail: 'The username or the password is wrong' },
  invalid_token: { detail: 'The token has expired' },
  token_not_refreshable: { detail: 'A token can be refreshed in its last 300 seconds; try again then' },
  insufficient_user_authentication: {
    detail: 'A second factor is required: confirm it by POST /login/stepup, or add one first',
    members: { acr_values: 'urn:latchkey:acr:second-factor' },
  },
  second_factor_required: {
    detail: 'Send the challenge and a code to POST /login/secondfactor',
    members: {
      challenge: 'eyJ0eXAiOiJjaGFsbGVuZ2UifQ.e30.c2lnbmF0dXJl',
      factors: ['totp'],
    },
  },
  second_factor_refused: { detail: 'The code is wrong, or was used already; send the next one' },
  passkey_refused: { detail: 'The response of the passkey is not valid; try again' },
  challenge_refused: { detail: 'The challenge is not valid, has expired or was used; log in again' },
  last_factor: { detail: 'Your role needs a second factor; add another one before you remove this one' },
  too_many_factors: { detail: 'You have 3 authenticator apps; remove one first' },
  factor_not_found: { detail: 'You have no such factor' },
  forbidden: { detail: 'The role admin is required' },
  email_taken: { detail: 'This e-mail address is already in use' },
  reset_refused: { detail: 'Invalid or expired code or token; try again, or request a new code' },
  password_refused: {
    detail: 'The password breaks the password policy',
    members: {
      violations: [
        { rule: 'MINIMUM_CHARS', number: 12 },
        { rule: 'REQUIRE_SYMBOLS', number: 1 },
      ],
    },
  },
  wrong_password: { detail: 'The current password is wrong' },
  email_change_refused: { detail: 'Invalid or expired code; try again, or change the e-mail again' },
  session_not_found: { detail: 'You have no such session, or it has ended' },
  rate_limited: { detail: 'Too many requests; try again in 42 seconds' },
  overloaded: { detail: 'Too many logins are waiting; try again shortly' },
  unavailable: { detail: 'The database cannot be reached' },
}

/** Refusals that depend on the path or the connection, not on an operation. */
export const protocolRefusals = (): Problem[] => [404, 405, 408, 417, 431].map((status) => fromStatus(status))

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
  const { detail, members = {} } = EXAMPLES[code] ?? {}
  const { detail: _, ...problem } = toProblem(new AppError(code, ''))
  return { ...problem, ...(detail === undefined ? {} : { detail }), ...members }
}
