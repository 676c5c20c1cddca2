import type { SwaggerTransform, SwaggerTransformObject } from '@fastify/swagger'
import type { FastifySchema, RouteOptions } from 'fastify'
import { z } from 'zod'
import { requiresToken } from '../authenticate.ts'
import { createNamedSchemas } from './named-schemas.ts'
import { createResponses } from './responses.ts'
import { orderTags } from './tags.ts'

export interface ApiDescriptionOptions {
  /** Bodies of requests by operationId, instead of the examples of their schemas. */
  examples?: Readonly<Record<string, unknown>>
}

/**
 * Describes what @fastify/swagger collects: bodies and parameters from the schemas that validate, responses and
 * `security` from what a route has.
 */
export function createApiDescription({ examples = {} }: ApiDescriptionOptions = {}) {
  const schemas = createNamedSchemas()
  const responses = createResponses(schemas)

  function describeBody(body: z.ZodType, operationId = '') {
    const isOptional = body instanceof z.ZodOptional
    const media = schemas.toMediaType(isOptional ? body.unwrap() : body, 'input')
    const example = examples[operationId]
    const content = { 'application/json': example === undefined ? media : { ...media, example } }
    return { required: !isOptional, content }
  }

  /** Describes what @fastify/swagger has no place for: headers, examples, references. */
  function describeOperation(route: RouteOptions) {
    const body = route.schema?.body
    return {
      ...(body instanceof z.ZodType ? { requestBody: describeBody(body, route.schema?.operationId) } : {}),
      security: requiresToken(route.auth)
        ? [{ bearer: [] }, ...(route.config?.acceptsRefreshToken ? [{}] : [])]
        : [],
      responses: responses.describe(route),
    }
  }

  const transform: SwaggerTransform = ({ schema, url, route }) => {
    const { body, response, params, querystring, ...rest }: FastifySchema = schema ?? {}
    const operation = {
      ...rest,
      ...(params instanceof z.ZodType ? { params: schemas.toJson(params, 'input') } : {}),
      ...(querystring instanceof z.ZodType ? { querystring: schemas.toJson(querystring, 'input') } : {}),
      // The plugin copies a member with this prefix unchanged.
      [OPERATION]: rest.hide ? undefined : describeOperation(route),
    }
    return { schema: operation, url }
  }

  const transformObject: SwaggerTransformObject = (given) => {
    if (!('openapiObject' in given)) throw new Error('The document is not OpenAPI 3')
    const { openapiObject } = given
    const parts: unknown[] = Object.values(openapiObject.paths ?? {}).flatMap((path) =>
      Object.values(path ?? {}),
    )
    const operations = parts.filter(isOperation)
    for (const operation of operations) {
      Object.assign(operation, operation[OPERATION])
      delete operation[OPERATION]
    }
    return Object.assign(openapiObject, {
      tags: orderTags(operations.flatMap(({ tags = [] }) => tags)),
      components: {
        ...openapiObject.components,
        schemas: Object.fromEntries([...schemas.components].toSorted()),
        responses: Object.fromEntries([...responses.components].toSorted()),
        headers: responses.headers,
      },
    })
  }

  return { transform, transformObject }
}

const OPERATION = 'x-operation'

interface Operation {
  [OPERATION]?: object
  tags?: string[]
}

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && OPERATION in value
