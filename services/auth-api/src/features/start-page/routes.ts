import { isForeign } from '@latchkey/shared/health/foreign-request.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import { renderStartPage } from './render-start-page.ts'

const INDEX = {
  name: 'Latchkey',
  description: 'A login and token service',
  openapi: '/openapi.json',
  health: '/health/ready',
}

/** The content security policy of a page without scripts that loads nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

/** Adds `GET /`: a page for developers where there are demo users, an index in JSON elsewhere and for other origins. */
export const startPageRoutes: FeatureRoutes = async (app, { config }) => {
  const { environment, mail, http, login, accountPages } = config
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    const hasDocs = http.docsPage === 'on'
    if (!hasDemoUsers(environment) || isForeign(request.headers))
      return hasDocs ? { ...INDEX, documentation: '/docs' } : INDEX
    const page = renderStartPage({
      environment,
      hasDocs,
      hasAccountPages: accountPages.mode === 'on',
      url: `${request.protocol}://${request.host}`,
      inboxUrl: mail.inboxUrl,
      metricsPort: http.metricsPort,
      loginField: login.field,
    })
    return reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).send(page)
  })
}
