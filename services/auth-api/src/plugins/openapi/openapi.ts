import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { isHttpUrl } from '@latchkey/shared/settings/addresses.ts'
import fp from 'fastify-plugin'
import { createApiDescription } from './describe-api.ts'

/** The page may load its own files only. No `upgrade-insecure-requests`, which would break it on plain HTTP. */
const DOCS_POLICY = {
  'default-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'style-src': ["'self'", "'unsafe-inline'"],
  'object-src': ["'none'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
}

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

/** Serves `/openapi.json`, from the schemas that validate, and `/docs`, a page to try requests. */
export const openapi = fp<{ publicUrl: string }>(
  async (app, { publicUrl }) => {
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: INFO,
        // Any issuer is valid; only one that is a URL is an address too.
        ...(isHttpUrl(publicUrl) ? { servers: [{ url: publicUrl }] } : {}),
        components: { securitySchemes: { bearer: BEARER } },
      },
      // Routes are below the server's path: they do not repeat it.
      stripBasePath: false,
      ...createApiDescription(),
    })

    app.get('/openapi.json', { schema: { hide: true }, config: { isCacheable: true } }, () => app.swagger())

    await app.register(async (docs) => {
      await docs.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: DOCS_POLICY } })
      await docs.register(swaggerUi, {
        routePrefix: '/docs',
        uiConfig: { persistAuthorization: false },
        // The page may only call its own origin, which publicUrl need not be: 127.0.0.1 for localhost, another port.
        // Relative to /docs/json, so that it works below a path prefix too.
        transformSpecification: (document) => ({ ...document, servers: [{ url: '../' }] }),
      })
    })
  },
  { name: 'openapi' },
)
