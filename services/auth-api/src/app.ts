import { registerDependencyGauge } from '@latchkey/shared/health/dependency-gauge.ts'
import type { Readiness } from '@latchkey/shared/health/readiness.ts'
import { registerOutboxAge } from '@latchkey/shared/mail/outbox/outbox-age.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import { declaredRoles } from '@latchkey/shared/users/roles.ts'
import type { FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import { type AppDependencies, type Core, createCore } from './core.ts'
import { accountRoutes } from './features/account/routes.ts'
import { createAppReadiness } from './features/health/readiness.ts'
import { healthRoutes } from './features/health/routes.ts'
import { registerServiceGauges } from './features/health/service-metrics.ts'
import { identityProviderRoutes } from './features/identity-providers/routes.ts'
import { keySetRoutes } from './features/key-set/routes.ts'
import { demoLogin } from './features/login/demo-login.ts'
import { loginRoutes } from './features/login/routes.ts'
import { mailLoginRoutes } from './features/mail-login/routes.ts'
import { passwordResetRoutes } from './features/password-reset/routes.ts'
import { passkeys } from './features/second-factor/passkeys/kind.ts'
import { secondFactorRoutes } from './features/second-factor/routes.ts'
import type { FactorKind } from './features/second-factor/second-factor.ts'
import { totp } from './features/second-factor/totp/kind.ts'
import { sessionRoutes } from './features/sessions/routes.ts'
import { signUpRoutes } from './features/sign-up/routes.ts'
import { startPageRoutes } from './features/start-page/routes.ts'
import { addAccountPages } from './http/account-pages.ts'
import { authenticate } from './http/authenticate.ts'
import { nodeRefusals } from './http/client-errors.ts'
import { createServer } from './http/create-server.ts'
import { crossOrigin } from './http/cross-origin.ts'
import { addExtensions } from './http/extension-routes.ts'
import { jsonBody } from './http/json-body.ts'
import { limitDatabaseTime, limitingTime } from './http/limit-database-time.ts'
import { limitRequests } from './http/limit-requests.ts'
import { metrics } from './http/metrics.ts'
import { openapi } from './http/openapi/openapi.ts'
import { problemDetails } from './http/problem-details.ts'
import { responseHeaders } from './http/response-headers.ts'
import { trackRouteOwners } from './http/route-owners.ts'

/** The kinds of second factors that a user can add. */
export const FACTOR_KINDS: readonly FactorKind[] = [totp, passkeys]

export interface App {
  server: FastifyInstance
  readiness: Readiness
}

/** Builds auth-api. Opens and closes nothing: `open-service.ts` does. */
export async function buildApp(
  config: Config,
  dependencies: AppDependencies,
  factorKinds = FACTOR_KINDS,
): Promise<App> {
  const { extensions = [], providers = new Map(), traceRequests } = dependencies
  const core = await createCore(config, { ...dependencies, db: limitingTime(dependencies.db) })
  const { registry, failures, limitRequest, auditOf, verifier, validity, requireLogin } = core
  const { corsOrigins, publicUrl, trustedProxies, docsPage } = config.http
  const readiness = createAppReadiness(config, { ...dependencies, ...core })
  registerGauges(config, core, readiness)

  const server = createServer({ trustedProxies, logger: dependencies.logger })
  const owners = trackRouteOwners(server, 'Latchkey')
  // The plugins, in the order in which a request passes them. The first is around the work of all others.
  if (traceRequests) await server.register(traceRequests)
  await server.register(problemDetails, { auditOf, onUnavailable: failures.report })
  await server.register(responseHeaders, { isDraining: readiness.isDraining })
  await server.register(metrics, { registry, logsRefusals: hasDemoUsers(config.environment) })
  await server.register(limitDatabaseTime)
  // This comes before everything that refuses a request: a page can read a refusal only with these headers.
  await server.register(crossOrigin, { origins: corsOrigins })
  // This comes before `jsonBody`, so that requests it refuses are counted.
  await server.register(limitRequests, { limitRequest })
  await server.register(nodeRefusals)
  await server.register(jsonBody)
  await server.register(authenticate, {
    verifier,
    validity,
    roles: declaredRoles(extensions),
    requireLogin,
    secondFactorRoles: config.secondFactor.roles,
    hasSecondFactor: core.challenges !== undefined,
  })
  await server.register(openapi, {
    publicUrl,
    hasPage: docsPage === 'on',
    algorithm: config.tokens.algorithm,
    examples: { login: demoLogin(config) },
  })

  const feature = { core, config }
  await server.register(healthRoutes, { readiness })
  await server.register(loginRoutes, feature)
  await server.register(mailLoginRoutes, feature)
  await server.register(secondFactorRoutes, { ...feature, kinds: factorKinds })
  await server.register(sessionRoutes, feature)
  await server.register(keySetRoutes, feature)
  await server.register(accountRoutes, feature)
  await server.register(passwordResetRoutes, feature)
  await server.register(signUpRoutes, feature)
  await server.register(identityProviderRoutes, { ...feature, providers })
  await server.register(startPageRoutes, feature)
  await addAccountPages(server, config)
  await addExtensions(server, extensions, owners, core)
  return { server, readiness }
}

function registerGauges({ database }: Config, core: Core, readiness: Readiness): void {
  const { registry, validity, passwords, db, localNow } = core
  registerServiceGauges(registry, {
    tokenChecks: validity.checks,
    hashes: passwords.usage,
    connections: db.usage,
    maxConnections: database.poolSize,
  })
  registerDependencyGauge(registry, readiness)
  // It queries the database. Before the others, it would count its own query as waiting.
  registerOutboxAge(registry, { outbox: createOutboxRepository(db), localNow })
}
