import swagger from '@fastify/swagger'
import { isHttpUrl } from '@latchkey/shared/settings/addresses.ts'
import fp from 'fastify-plugin'
import manifest from '../../../package.json' with { type: 'json' }
import { HIDDEN } from '../serve-files.ts'
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
  version: manifest.version,
  contact: { name: 'The operator of this service' },
  license: { name: 'MIT', identifier: 'MIT' },
}

const describeBearer = (algorithm: string) =>
  ({
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: `The \`token\` of a login or a refresh. It is a JWT, signed by ${algorithm}.`,
  }) as const

export interface OpenapiOptions extends ApiDescriptionOptions {
  publicUrl: string
  /** True where `/docs` is served. */
  hasPage: boolean
  /** The algorithm that signs tokens. */
  algorithm: string
}

/** Serves `/openapi.json`, from the schemas that validate, and where it is switched on `/docs`, a page to try requests. */
export const openapi = fp<OpenapiOptions>(
  async (app, { publicUrl, hasPage, algorithm, ...options }) => {
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: INFO,
        // Any issuer is valid; only one that is a URL is an address too.
        ...(isHttpUrl(publicUrl) ? { servers: [{ url: publicUrl }] } : {}),
        components: { securitySchemes: { bearer: describeBearer(algorithm) } },
      },
      // Routes are below the server's path: they do not repeat it.
      stripBasePath: false,
      ...createApiDescription(options),
    })
    app.get('/openapi.json', HIDDEN, async () => app.swagger())
    if (hasPage) await app.register(docsPage)
  },
  { name: 'openapi' },
)
