import { createReadStream, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

/** The page may load its own files only. No `upgrade-insecure-requests`, which would break it on plain HTTP. */
const POLICY = {
  'default-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'style-src': ["'self'", "'unsafe-inline'"],
  'object-src': ["'none'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
}

const OWN = join(import.meta.dirname, 'page')
const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

/** Every file of the page, read from disk when a browser asks for it. */
const FILES: Readonly<Record<string, { folder: string; type: string }>> = {
  'page.css': { folder: OWN, type: 'text/css; charset=utf-8' },
  'page.js': { folder: OWN, type: 'text/javascript; charset=utf-8' },
  'icon.svg': { folder: OWN, type: 'image/svg+xml' },
  'swagger-ui.css': { folder: SWAGGER_UI, type: 'text/css; charset=utf-8' },
  'swagger-ui-bundle.js': { folder: SWAGGER_UI, type: 'text/javascript; charset=utf-8' },
}

const HTML = 'text/html; charset=utf-8'
const HIDDEN = { schema: { hide: true }, config: { isCacheable: true } }

/** A page to try the endpoints on: Swagger UI with the service's own style. */
export async function docsPage(app: FastifyInstance): Promise<void> {
  await app.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: POLICY } })

  app.get('/docs', HIDDEN, (_request, reply) => reply.type(HTML).send(toHtml('docs/')))
  app.get('/docs/', HIDDEN, (_request, reply) => reply.type(HTML).send(toHtml('')))
  // The page may only call its own origin, which API_SERVER need not be: 127.0.0.1 for localhost, another port.
  app.get('/docs/json', HIDDEN, async () => ({ ...(await app.describeApi()), servers: [{ url: '../' }] }))
  for (const [name, { folder, type }] of Object.entries(FILES))
    app.get(`/docs/page/${name}`, HIDDEN, (_request, reply) =>
      reply
        .type(type)
        .header('cache-control', 'max-age=3600')
        .send(createReadStream(join(folder, name))),
    )
}

/** `base` leads from the page to `/docs/`. Links are relative, so that they work below the path prefix of a proxy. */
const toHtml = (base: string): string =>
  readFileSync(join(OWN, 'page.html'), 'utf8').replaceAll('{{base}}', base)
