import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { isHttpUrl } from '@latchkey/shared/settings/addresses.ts'
import Fastify, { type RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { type ApiDescriptionOptions, createApiDescription } from './describe-api.ts'
import { docsPage } from './docs-page.ts'

const INFO = {
  title: 'Latchkey',
  summary: 'Login and tokens',
  description: [
    'Checks credentials, issues and refreshes JSON Web Tokens, resets passwords, serves the profile.',
    'A token is sent as `Authorization: Bearer <token>`.',
    'An error is an `application/problem+json` body (RFC 9457): test its `type`.',
  ].join('\n\n'),
  version: '1.0.0',
  contact: { name: 'The operator of this service' },
  license: { name: 'MIT', identifier: 'MIT' },
}

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'The `token` of a login or a refresh.',
} as const

export interface OpenapiOptions extends ApiDescriptionOptions {
  publicUrl: string
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The OpenAPI document of all routes. */
    describeApi(): Promise<object>
  }
}

/** Serves `/openapi.json`, from the schemas that validate, and `/docs`, a page to try requests. */
export const openapi = fp<OpenapiOptions>(
  async (app, { publicUrl, ...options }) => {
    const routes: RouteOptions[] = []
    app.addHook('onRoute', (route) => {
      if (route.method !== 'HEAD') routes.push(route)
    })
    let document: Promise<object> | undefined
    app.decorate('describeApi', () => {
      document ??= describe(routes, {
        openapi: {
          openapi: '3.1.0',
          info: INFO,
          // Any issuer is valid; only one that is a URL is an address too.
          ...(isHttpUrl(publicUrl) ? { servers: [{ url: publicUrl }] } : {}),
          components: { securitySchemes: { bearer: BEARER } },
        },
        // Routes are below the server's path: they do not repeat it.
        stripBasePath: false,
        ...createApiDescription(options),
      })
      return document
    })

    const HIDDEN = { schema: { hide: true }, config: { isCacheable: true } }
    app.get('/openapi.json', HIDDEN, () => app.describeApi())

    await app.register(docsPage)
  },
  { name: 'openapi' },
)

/**
 * Describes routes by @fastify/swagger, on a server that answers nothing. The plugin is loaded when somebody asks for the
 * document: it would make every start of the service slower, and the service larger.
 */
async function describe(
  routes: readonly RouteOptions[],
  options: FastifyDynamicSwaggerOptions,
): Promise<object> {
  const { default: swagger } = await import('@fastify/swagger')
  const described = Fastify({ exposeHeadRoutes: false })
  described.setValidatorCompiler(() => () => true).setSerializerCompiler(() => JSON.stringify)
  await described.register(swagger, options)
  for (const { onRequest: _, ...route } of routes) described.route(route)
  await described.ready()
  return described.swagger()
}
