import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import { HIDDEN, serveFiles } from '../serve-files.ts'

/** The page may load its own files only. No `upgrade-insecure-requests`, which would break it on plain HTTP. */
const POLICY = {
  'default-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'style-src': ["'self'", "'unsafe-inline'"],
  'object-src': ["'none'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
}

const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

/** Swagger UI's page and what it loads. */
const FILES = [
  'index.html',
  'index.css',
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-16x16.png',
  'favicon-32x32.png',
]

/** The script that Swagger UI's page loads. The layout has no bar that loads other documents. */
const INITIALIZER = `window.ui = SwaggerUIBundle({
  url: 'json',
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
})
`

/** A page to try the endpoints on: Swagger UI. Its links are relative, so that they work below the path prefix of a proxy. */
export async function docsPage(app: FastifyInstance): Promise<void> {
  await app.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: POLICY } })

  app.get('/docs', HIDDEN, (_request, reply) => reply.redirect('docs/'))
  // The page may only call its own origin, which API_SERVER need not be: 127.0.0.1 for localhost, another port.
  app.get('/docs/json', HIDDEN, async () => ({ ...app.swagger(), servers: [{ url: '../' }] }))
  app.get('/docs/swagger-initializer.js', HIDDEN, (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(INITIALIZER),
  )
  const urlOf = (file: string) => `/docs/${file === 'index.html' ? '' : file}`
  await serveFiles(app, new Map(FILES.map((file) => [urlOf(file), join(SWAGGER_UI, file)])))
}
