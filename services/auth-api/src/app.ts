import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import { declaredRoles } from '@latchkey/shared/extensions/declared-roles.ts'
import { registerDependencyGauge } from '@latchkey/shared/health/dependency-gauge.ts'
import type { Failures } from '@latchkey/shared/health/failures.ts'
import type { Readiness } from '@latchkey/shared/health/readiness.ts'
import { registerOutboxAge } from '@latchkey/shared/mail-outbox/outbox-age.ts'
import { createOutboxRepository } from '@latchkey/shared/mail-outbox/outbox-repository.ts'
import { DEMO_PASSWORD, DEMO_USERS, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { type AppDependencies, buildMails, buildParts, type Parts } from './app-parts.ts'
import { addRoutes } from './app-routes.ts'
import type { RequestEvent } from './audit/request-audit.ts'
import type { Config } from './config.ts'
import { addExtensionRoutes } from './extension-routes.ts'
import { limitRequests } from './limits/limit-requests.ts'
import type { RequestCounter } from './limits/request-counter.ts'
import { warnOfProxy } from './limits/warn-of-proxy.ts'
import { type AuthenticateOptions, authenticate } from './plugins/authenticate.ts'
import { ownRefusals } from './plugins/client-errors.ts'
import { crossOrigin } from './plugins/cross-origin.ts'
import { jsonBody } from './plugins/json-body.ts'
import { metrics } from './plugins/metrics.ts'
import { openapi } from './plugins/openapi/openapi.ts'
import { problemDetails } from './plugins/problem-details.ts'
import { responseHeaders } from './plugins/response-headers.ts'
import { trackRouteOwners } from './plugins/route-owners.ts'
import { registerServiceGauges } from './service-metrics.ts'

export interface App {
  server: FastifyInstance
  readiness: Readiness
}

/** Joins the parts of auth-api. Opens and closes nothing: `parts.ts` does. */
export async function buildApp(config: Config, dependencies: AppDependencies): Promise<App> {
  const { extensions = [] } = dependencies
  const parts = await buildParts(config, dependencies)
  const { db, server, readiness, tokens, users, clock, auditOf } = parts
  registerMetrics(config, parts)
  const owners = trackRouteOwners(server, 'Latchkey')
  const roles = declaredRoles(extensions)
  const { verifier, validity } = tokens
  await addPlugins(server, config, { ...parts, tokens: { verifier, validity, auditOf, roles } })
  await addRoutes(config, parts)
  const mailsOf = ({ mails }: ConfiguredExtension) => buildMails(mails, config, parts)
  for (const extension of extensions)
    await addExtensionRoutes(server, owners, extension, { db, users, clock, mailsOf })
  return { server, readiness }
}

/** Those that need a statement come last: a scrape would find its own statements waiting for a connection. */
function registerMetrics(
  { database }: Config,
  { registry, db, passwords, tokens, readiness, clock }: Parts,
): void {
  registerServiceGauges(registry, {
    tokenChecks: () => tokens.validity.checks(),
    hashes: () => passwords.usage(),
    connections: () => db.usage(),
    maxConnections: database.poolSize,
  })
  registerDependencyGauge(registry, readiness)
  registerOutboxAge(registry, { outbox: createOutboxRepository(db), clock })
}

interface PluginParts extends Pick<AppDependencies, 'traceRequests'> {
  readiness: Readiness
  tokens: AuthenticateOptions
  requestCounter: RequestCounter
  registry: Registry
  failures: Failures
}

/** Adds what every route needs, in the order in which a request passes it. */
async function addPlugins(
  server: FastifyInstance,
  config: Config,
  { readiness, tokens, requestCounter, registry, failures, traceRequests }: PluginParts,
): Promise<void> {
  // First, so that the work of the other plugins is inside the span.
  if (traceRequests) await server.register(traceRequests)
  await server.register(problemDetails, {
    onLimit: (request) => tokens.auditOf(request).report(limitReached(request)),
    onUnavailable: failures.report,
  })
  await server.register(responseHeaders, { isDraining: readiness.isDraining })
  await server.register(metrics, { registry })
  // Before anything that refuses a request: a page can read a refusal only with these headers.
  await server.register(crossOrigin, { origins: config.http.corsOrigins })
  await server.register(warnOfProxy)
  // Before the content-type gate: what that refuses counts as a request.
  const { requestsPerMinute } = config.limits
  await server.register(limitRequests, { counter: requestCounter, requestsPerMinute })
  await server.register(ownRefusals)
  await server.register(jsonBody)
  await server.register(authenticate, tokens)
  await server.register(openapi, { publicUrl: config.http.publicUrl, examples: demoExamples(config) })
}

const limitReached = ({ method, routeOptions, jwt }: FastifyRequest): RequestEvent => ({
  name: 'limit.reached',
  userid: jwt?.sub,
  reason: `${method} ${routeOptions.url ?? 'unmatched'}`,
})

/** Where there are demo users, the examples log one of them in. */
function demoExamples({ environment, login }: Config): Record<string, unknown> {
  const user = DEMO_USERS.find(({ role }) => role === 'user')
  return user && hasDemoUsers(environment)
    ? { login: { username: user[login.field], password: DEMO_PASSWORD } }
    : {}
}
