import { STATUS_CODES } from 'node:http'
import type { RouteOptions } from 'fastify'
import { z } from 'zod'
import { type Problem, ProblemBody } from '../problem-details.ts'
import type { NamedSchemas } from './named-schemas.ts'
import { protocolRefusals, refusalsOf } from './refusals.ts'

type Response = Record<string, unknown>

/** The headers by the name of their component. */
const HEADERS = {
  RequestId: {
    description: 'The id of the request, as in the log and in `instance` of a problem.',
    schema: { type: 'string' },
    example: '5f0c1a52-7a0e-4d6e-9b56-0c3d7f4b6a11',
  },
  RetryAfter: {
    description: 'Seconds until the request may be sent again.',
    schema: { type: 'integer', minimum: 1 },
    example: 12,
  },
  Challenge: {
    description: 'The scheme that is required, and what is wrong with the token that was sent (RFC 6750).',
    schema: { type: 'string' },
    example:
      'Bearer realm="latchkey", error="invalid_token", error_description="The token has expired; log in again"',
  },
  Allow: {
    description: 'With 405: the methods of the path.',
    schema: { type: 'string' },
    example: 'GET, HEAD, PUT',
  },
}

const REQUEST_ID = { 'X-Request-Id': headerAt('RequestId') }
const RETRY_AFTER = { 'Retry-After': headerAt('RetryAfter') }
const CHALLENGE = { 'WWW-Authenticate': headerAt('Challenge') }

/** The types of zod that stand for a response without a body. */
const BODILESS: ReadonlySet<string> = new Set(['null', 'undefined', 'void'])

/** The headers of each status. */
const HEADERS_OF: Readonly<Record<number, Record<string, unknown>>> = {
  401: CHALLENGE,
  403: CHALLENGE,
  429: RETRY_AFTER,
  503: RETRY_AFTER,
}

/** Describes the responses of routes. What many routes answer is described once, in `components`. */
export function createResponses(schemas: NamedSchemas) {
  const components = new Map<string, Response>()

  function share(name: string, response: Response): Response {
    components.set(name, response)
    return { $ref: `#/components/responses/${name}` }
  }

  function refusalOf(status: number, problems: readonly Problem[]): Response {
    const response = describeRefusal(problems, HEADERS_OF[status] ?? {}, schemas)
    const [first, ...others] = problems
    return first && others.length === 0 ? share(pascalCase(slugOf(first)), response) : response
  }

  const protocolRefusal = (): Response =>
    share('Refused', describeRefusal(protocolRefusals(), { Allow: headerAt('Allow') }, schemas))

  return {
    components,
    headers: HEADERS,
    /** Describes the responses of a route by status, and the refusals of the protocol as `default`. */
    describe(route: RouteOptions): Record<string, Response> {
      const refusals = Map.groupBy(refusalsOf(route), ({ status }) => status)
      return {
        ...describeSuccesses(route, schemas),
        ...Object.fromEntries(
          [...refusals].map(([status, problems]) => [status, refusalOf(status, problems)]),
        ),
        default: protocolRefusal(),
      }
    },
  }
}

function describeSuccesses({ schema }: RouteOptions, schemas: NamedSchemas): Record<string, Response> {
  const declared = Object.entries(schema?.response ?? {}).flatMap(([status, body]) =>
    body instanceof z.ZodType ? [[status, describeSuccess(status, body, schemas)]] : [],
  )
  // Fastify answers with this status unless a handler sets another one.
  return declared.length > 0
    ? Object.fromEntries(declared)
    : { 200: { description: 'OK', headers: REQUEST_ID } }
}

function describeSuccess(status: string, schema: z.ZodType, schemas: NamedSchemas): Response {
  const description = schema.description ?? STATUS_CODES[status] ?? status
  if (BODILESS.has(schema.type)) return { description, headers: REQUEST_ID }
  const content = { 'application/json': schemas.toMediaType(schema, 'output') }
  return { description, headers: REQUEST_ID, content }
}

function describeRefusal(
  problems: readonly Problem[],
  headers: Record<string, unknown>,
  schemas: NamedSchemas,
): Response {
  const examples = problems.map((problem) => [
    slugOf(problem),
    { summary: problem.title, value: { ...problem, instance: HEADERS.RequestId.example } },
  ])
  const schema = schemas.toJson(ProblemBody, 'output')
  return {
    description: problems.map(({ type, title }) => `${title}: \`${type}\`.`).join('\n\n'),
    headers: { ...REQUEST_ID, ...headers },
    content: { 'application/problem+json': { schema, examples: Object.fromEntries(examples) } },
  }
}

function headerAt(name: keyof typeof HEADERS) {
  return { $ref: `#/components/headers/${name}` }
}

const slugOf = ({ type }: Problem): string => type.split(':').at(-1) ?? type

const pascalCase = (slug: string): string =>
  slug
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
