import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { isHttpUrl } from '@latchkey/shared/settings/addresses.ts'
import fp from 'fastify-plugin'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'

/** The page may load its own files only. No `upgrade-insecure-requests`, which would break it on plain HTTP. */
const DOCS_POLICY = {
  'default-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'style-src': ["'self'", "'unsafe-inline'"],
  'object-src': ["'none'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
}

/** Serves `/openapi.json`, from the schemas that validate, and `/docs`, a page to try requests. */
export const openapi = fp<{ publicUrl: string }>(
  async (app, { publicUrl }) => {
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Latchkey',
          description:
            'Checks credentials, issues and refreshes JSON Web Tokens, resets passwords, serves the profile.',
          version: '1.0.0',
        },
        // Any issuer is valid; only one that is a URL is an address too.
        ...(isHttpUrl(publicUrl) ? { servers: [{ url: publicUrl }] } : {}),
        components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
      },
      transform: jsonSchemaTransform,
      transformObject: jsonSchemaTransformObject,
    })

    // The document shows which routes require a token.
    app.addHook('onRoute', (route) => {
      if (route.auth !== undefined) route.schema = { ...route.schema, security: [{ bearer: [] }] }
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
