import { STATUS_CODES } from 'node:http'
import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { ProblemError, type ProblemType } from '@latchkey/shared/extensions/problem-type.ts'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import {
  hasZodFastifySchemaValidationErrors,
  type ZodFastifySchemaValidationError,
} from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { RequestAudit, RequestEvent } from '../audit/request-audit.ts'
import { trackMethods } from './allowed-methods.ts'
import { describeError, findRemedy } from './remedies.ts'

export const PROBLEMS = {
  invalid_credentials: { status: 401, title: 'Wrong username or password' },
  invalid_token: { status: 401, title: 'Authentication required' },
  token_not_refreshable: { status: 401, title: 'Token cannot be refreshed yet' },
  insufficient_user_authentication: { status: 401, title: 'Stronger or newer login required' },
  second_factor_required: { status: 403, title: 'Second factor required' },
  password_exposed: { status: 403, title: 'New password required' },
  foreign_origin: { status: 403, title: 'Page of another origin' },
  account_banned: { status: 403, title: 'Account banned' },
  email_unconfirmed: { status: 403, title: 'E-mail address not confirmed' },
  forbidden: { status: 403, title: 'Role required' },
  email_taken: { status: 409, title: 'E-mail address already in use' },
  username_taken: { status: 409, title: 'Username already in use' },
  invalid_input: { status: 400, title: 'Invalid request' },
  reset_refused: { status: 422, title: 'Password reset refused' },
  password_refused: { status: 422, title: 'Password refused' },
  second_factor_refused: { status: 422, title: 'Second factor refused' },
  passkey_refused: { status: 422, title: 'Passkey refused' },
  challenge_refused: { status: 422, title: 'Challenge refused' },
  last_factor: { status: 409, title: 'Last second factor of a role that needs one' },
  last_admin: { status: 409, title: 'Last admin' },
  too_many_factors: { status: 409, title: 'Too many second factors' },
  factor_not_found: { status: 404, title: 'No such second factor' },
  wrong_password: { status: 422, title: 'Wrong current password' },
  email_change_refused: { status: 422, title: 'Change of e-mail refused' },
  login_code_refused: { status: 422, title: 'Code of a login refused' },
  signup_refused: { status: 422, title: 'Sign-up refused' },
  provider_not_found: { status: 404, title: 'No such identity provider' },
  exchange_refused: { status: 422, title: 'Code or ticket of a login refused' },
  login_incomplete: { status: 409, title: 'Login incomplete' },
  identity_refused: { status: 403, title: 'Account cannot be used' },
  identity_unknown: { status: 403, title: 'No account of this person' },
  identity_taken: { status: 409, title: 'Account of the provider already in use' },
  identity_not_found: { status: 404, title: 'No such identity' },
  last_way_in: { status: 409, title: 'Last way to log in' },
  session_not_found: { status: 404, title: 'No such session' },
  rate_limited: { status: 429, title: 'Too many requests' },
  overloaded: { status: 503, title: 'Too many requests in progress' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
} satisfies Record<ErrorCode, { status: number; title: string }>

/** An error as RFC 9457 describes it. */
export interface Problem {
  type: string
  title: string
  status: number
  detail?: string | undefined
  [member: string]: unknown
}

/** The body of every error. */
export const ProblemBody = z
  .looseObject({
    type: z.string().describe('`urn:latchkey:problem:<slug>`'),
    title: z.string().describe('The same for every problem of a type.'),
    status: z.int().min(400).max(599).describe('The status of the response.'),
    detail: z.string().optional().describe('An explanation that is specific to this request.'),
    instance: z.string().describe('The id of the request, as in X-Request-Id.'),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('Every fault of the input.'),
    violations: z
      .array(z.object({ rule: z.string(), number: z.int() }))
      .optional()
      .describe('The password rules that were broken, as `GET /password-policy` describes them.'),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457).' })

const typeOf = (slug: string) => `urn:latchkey:problem:${slug}`

/** Describes a failure to the client. An unexpected one shows only its status. */
export function toProblem(error: Error, input?: RequestInput): Problem {
  if (error instanceof AppError) {
    return {
      type: typeOf(error.code.replaceAll('_', '-')),
      ...PROBLEMS[error.code],
      detail: describeError(error),
      ...error.details,
    }
  }
  if (error instanceof ProblemError)
    return { ...toProblemOf(error.type), detail: error.message, ...error.details }
  if (hasZodFastifySchemaValidationErrors(error)) return toInputProblem(error, input)
  return fromStatus('statusCode' in error ? Number(error.statusCode) : 500, (error as FastifyError).code)
}

/** The parts of a request that a schema checks, under Fastify's names. */
type RequestInput = Pick<FastifyRequest, 'body' | 'params' | 'query' | 'headers'>

const PARAMETERS: Readonly<Record<string, { kind: string; from: 'params' | 'query' | 'headers' }>> = {
  params: { kind: 'path parameter', from: 'params' },
  querystring: { kind: 'query parameter', from: 'query' },
  headers: { kind: 'header', from: 'headers' },
}

interface InvalidInput extends Pick<FastifyError, 'validationContext'> {
  validation: readonly Pick<ZodFastifySchemaValidationError, 'instancePath' | 'message'>[]
}

/** Describes every fault of a request's body or of its parameters, which the detail names. */
function toInputProblem(
  { validation, validationContext = 'body' }: InvalidInput,
  input?: RequestInput,
): Problem {
  const parameters = PARAMETERS[validationContext]
  const given = input?.[parameters?.from ?? 'body']
  const errors = validation.map(({ instancePath, message = 'is not valid' }) => {
    const path = instancePath.split('/').filter(Boolean)
    const isMissing = path.length > 0 && input !== undefined && valueAt(given, path) === undefined
    return { path: path.join('.'), message: isMissing ? 'is required' : message }
  })
  const names = [...new Set(errors.map(({ path }) => path))]
  const subject =
    names.length > 1
      ? `The ${parameters?.kind}s ${names.join(', ')} are`
      : `The ${parameters?.kind} ${names[0]} is`
  const detail = `${parameters ? subject : 'The body is'} not valid`
  return { type: typeOf('invalid-input'), ...PROBLEMS.invalid_input, detail, errors }
}

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    value,
  )

/** Returns the problem of an extension's type, without what is wrong with one request. */
export const toProblemOf = ({ name, status, title }: ProblemType): Problem => ({
  type: typeOf(name),
  title,
  status,
})

/** Details of the refusals of Fastify and Node. Their own messages may repeat what the client sent. */
const DETAILS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON',
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is larger than 16 KiB',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The Content-Type must be application/json',
  BODY_CHARSET: 'The charset of the body must be utf-8, and the Content-Type may have no other parameter',
  BODY_COMPRESSED: 'The body must not be compressed: send no Content-Encoding',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body does not have the length that Content-Length declares',
  FST_ERR_BAD_URL: 'The path is not valid',
  FST_ERR_MAX_PARAM_LENGTH: 'The path is too long',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive',
  HOST_MISSING: 'The Host header is missing',
  HPE_HEADER_OVERFLOW: 'The headers are larger than 16 KiB',
}

/** Returns the problem of a status, for a refusal that has no error code. */
export function fromStatus(statusCode: number, code = ''): Problem {
  const status = statusCode >= 400 && statusCode < 600 ? statusCode : 500
  const title = STATUS_CODES[status] ?? 'Error'
  const slug = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  return { type: typeOf(slug), title, status, detail: DETAILS[code] }
}

export interface ProblemDetailsOptions {
  /** Receives the failure of each request that a dependency could not serve. */
  onUnavailable?: (dependency: string, error: Error) => void
  /** Returns the audit trail of a request, to which a reached limit is reported. */
  auditOf?: (request: FastifyRequest) => Pick<RequestAudit, 'report'>
}

/** Writes every error as RFC 9457 says, and logs those that are not the client's. */
export const problemDetails = fp<ProblemDetailsOptions>(
  async (app, { auditOf, onUnavailable }) => {
    const allowedMethods = trackMethods(app)
    const tellOperator = createOperatorLog()

    app.setErrorHandler((error: Error, request, reply) => {
      const problem = toProblem(error, request)
      if (problem.status >= 500) logFailure(request, error)
      if (error instanceof AppError) tellOperator(request, error)
      if (error instanceof AppError && error.code === 'rate_limited')
        auditOf?.(request).report(limitReached(request))
      if (error instanceof AppError && error.dependency) onUnavailable?.(error.dependency, error)
      if (error instanceof AppError && error.retryAfterSeconds)
        reply.header('retry-after', error.retryAfterSeconds)
      if (problem.status === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', 1)
      if (problem.status === 401 || problem.status === 403) setAuthenticateHeader(request, reply, problem)
      return sendProblem(request, reply, problem)
    })

    app.setNotFoundHandler((request, reply) => {
      const allowed = allowedMethods(request.url)
      if (allowed.length === 0)
        return sendProblem(request, reply, { ...fromStatus(404), detail: 'No route has this path' })
      const list = allowed.join(', ')
      reply.header('allow', list)
      return sendProblem(request, reply, { ...fromStatus(405), detail: `This path allows ${list}` })
    })
  },
  { name: 'problem-details' },
)

const limitReached = ({ method, routeOptions, jwt }: FastifyRequest): RequestEvent => ({
  name: 'limit.reached',
  userid: jwt?.sub,
  // Any client can send any method to any path.
  reason: routeOptions.url === undefined ? 'unmatched' : `${method} ${routeOptions.url}`,
})

/**
 * A flood of logins, or an outage, would become a flood of log lines. The metrics count refused logins; the log of
 * readiness says when an outage begins and ends.
 */
function logFailure(request: FastifyRequest, error: Error): void {
  const comesInFloods =
    error instanceof AppError && (error.code === 'overloaded' || error.dependency !== undefined)
  request.log[comesInFloods ? 'debug' : 'error']({ err: error }, 'the request failed')
}

/** Logs what only the operator can do about a refusal. Any client can cause one, so each kind is logged once. */
function createOperatorLog() {
  const told = new Set<string>()
  return (request: FastifyRequest, error: AppError): void => {
    const { operator } = findRemedy(error)
    if (operator === undefined || told.has(operator)) return
    told.add(operator)
    request.log.warn(`${error.message}; ${operator}`)
  }
}

/**
 * RFC 6750 §3: the scheme that is required, and what is wrong with the token if one was sent in that scheme. RFC 9470 §3: how
 * the user has to log in.
 */
function setAuthenticateHeader(request: FastifyRequest, reply: FastifyReply, problem: Problem): void {
  const isAboutToken =
    request.routeOptions.config.isProtected && /^Bearer( |$)/i.test(request.headers.authorization ?? '')
  const { acr_values, max_age } = problem
  const about = {
    error: tokenErrorOf(problem),
    error_description: toAscii(problem),
    acr_values,
    max_age,
  }
  const parameters = Object.entries({ realm: 'latchkey', ...(isAboutToken ? about : {}) })
  const given = parameters.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`]))
  reply.header('www-authenticate', `Bearer ${given.join(', ')}`)
}

function tokenErrorOf({ status, type }: Problem): string {
  if (status === 403) return 'insufficient_scope'
  return type === typeOf('insufficient-user-authentication')
    ? 'insufficient_user_authentication'
    : 'invalid_token'
}

/** RFC 6750 §3 allows ASCII only, without quotes and backslashes. */
const toAscii = ({ detail = '' }: Problem): string =>
  detail.replaceAll('"', "'").replace(/[^ !#-[\]-~]/g, '?')

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  return reply
    .code(problem.status)
    .type('application/problem+json')
    .serializer(JSON.stringify)
    .send({ ...problem, instance: request.id })
}
