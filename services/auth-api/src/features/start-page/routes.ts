import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { type Parts, renderStartPage } from './render-start-page.ts'

export interface StartPageOptions extends Omit<Parts, 'url'> {
  /** Whether `/` is the page for developers; elsewhere it is an index in JSON. */
  hasPage: boolean
}

const INDEX = {
  name: 'Latchkey',
  description: 'A login and token service',
  documentation: '/docs',
  openapi: '/openapi.json',
  health: '/health/ready',
}

/** The page has no scripts and loads nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

export const startPageRoutes: FastifyPluginAsyncZod<StartPageOptions> = async (
  app,
  { hasPage, ...parts },
) => {
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    if (!hasPage) return INDEX
    const url = `${request.protocol}://${request.host}`
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', POLICY)
      .send(renderStartPage({ url, ...parts }))
  })
}
