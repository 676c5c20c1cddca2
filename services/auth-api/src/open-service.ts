import type { Queryable } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { configureExtensions } from '@latchkey/shared/extensions/configure-extensions.ts'
import { loadExtensions } from '@latchkey/shared/extensions/load-extensions.ts'
import {
  createDependencyFailures,
  type DependencyFailures,
} from '@latchkey/shared/health/dependency-failures.ts'
import { announceReady } from '@latchkey/shared/lifecycle/announce-ready.ts'
import { listen } from '@latchkey/shared/lifecycle/listen.ts'
import { openContext, type ServiceContext } from '@latchkey/shared/lifecycle/open-context.ts'
import type { Lifecycle } from '@latchkey/shared/lifecycle/run-service.ts'
import { warnOfClearText } from '@latchkey/shared/lifecycle/warn-of-clear-text.ts'
import { createMailDispatcher } from '@latchkey/shared/mail/outbox/dispatch-mail.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { parseBoth, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { traceDatabase } from '@latchkey/shared/telemetry/trace-database.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { declaredRoles } from '@latchkey/shared/users/roles.ts'
import { didYouMean } from '@latchkey/text/closest-name.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { buildApp } from './app.ts'
import { openAuditTrail } from './audit/audit-trail.ts'
import { type Config, parseConfig } from './config.ts'
import { createErasureTask } from './features/account/erase-accounts.ts'
import { createHashWaits } from './features/health/service-metrics.ts'
import { loadProviders } from './features/identity-providers/load-providers.ts'
import { createRequestTracing } from './http/trace-requests.ts'
import { openLimitStore } from './limits/limit-store.ts'

/** Opens auth-api: its settings, clients and servers, in this order. They are closed in the reverse order. */
export async function openService(lifecycle: Lifecycle, environment: NodeJS.ProcessEnv): Promise<void> {
  const context = await openContext(lifecycle, {
    name: 'auth-api',
    processEnvironment: environment,
    readSettings,
    timeoutMessage: 'requests were still in flight at the end of SHUTDOWN_GRACE',
  })
  const { config, extensions, providers, logger, tracing, registry } = context
  if (config.passwords.scheme === 'sha1')
    logger.warn(
      'PASSWORD_HASH is sha1: stolen hashes can be cracked within hours. Set PASSWORD_HASH=argon2id.',
    )
  const urls = { DATABASE_URL: config.database.url, QUEUE_URL: config.mail.queueUrl }
  warnOfClearText({ environment: config.environment, urls, logger })

  const failures = createDependencyFailures(Date.now)
  const clients = await openClients(lifecycle, { ...context, failures })
  const traceRequests = tracing && (await createRequestTracing())
  const audit = await lifecycle.open(
    () => openAuditTrail({ db: clients.db, logger, registry, localNow: Date.now }),
    (audit) => audit.close(),
  )
  const { server, readiness } = await buildApp(config, {
    ...clients,
    audit,
    extensions,
    providers,
    logger,
    registry,
    traceRequests,
    failures,
    refuse: lifecycle.fail,
  })
  // This comes before the port is open, so that nobody can log in to a database that is refused.
  await readiness.read()

  const { host, port, metricsPort } = config.http
  const metricsServer = buildMetricsServer(registry)
  await listen(lifecycle, metricsServer, { host, port: metricsPort, portSetting: 'METRICS_PORT' })
  await listen(lifecycle, server, { host, port, portSetting: 'PORT' })
  await announceReady(lifecycle, {
    readiness,
    drainDelaySeconds: config.shutdown.delaySeconds,
    urls: { database: config.database.url, queue: config.mail.queueUrl },
    logger,
    address: () => server.listeningOrigin,
  })
  await lifecycle.open(
    () => {
      const task = createErasureTask({ db: clients.db, localNow: Date.now }, { logger })
      task.start()
      return task
    },
    (task) => task.stop(),
  )
  // Loads the libraries of hashes once the port is open: loading takes time, for which the first login would wait.
  await Promise.all([clients.passwords.start(), warnOfUnaskedFactors(config, clients.db, logger)])
}

/** Warns where users have a second factor that no login asks for. Waits for nothing that readiness needs. */
async function warnOfUnaskedFactors(
  { secondFactor }: Config,
  db: Queryable,
  logger: Pick<Logger, 'warn' | 'debug'>,
): Promise<void> {
  if (secondFactor.mode === 'on') return
  const users = await createFactorRepository(db)
    .countUsers()
    .catch((error: unknown) => logger.debug({ err: error }, 'users with a second factor were not counted'))
  if (!users) return
  logger.warn(
    { users },
    `SECOND_FACTOR is off, and no login asks for the second factor that at least ${users === 1 ? 'one user has' : `${users} users have`}. Set SECOND_FACTOR=on.`,
  )
}

/** Opens what the API works with: the database, the password hasher, Redis and the mail queue. */
async function openClients(
  lifecycle: Lifecycle,
  {
    config,
    logger,
    tracing,
    registry,
    failures,
  }: ServiceContext & { config: Config; failures: DependencyFailures },
) {
  const hashWaits = createHashWaits(registry)
  const { accepted, shared, ...passwordSettings } = config.passwords
  const database = await lifecycle.open(
    () =>
      openDatabase(config.database.url, {
        poolSize: config.database.poolSize,
        onConnectionError: (error) => logger.debug({ err: error }, 'a database connection broke'),
      }),
    (database) => database.close(),
  )
  const db = tracing ? traceDatabase(database, tracing.runInSpan) : database
  const passwords = await lifecycle.open(
    () =>
      createPasswordHasher({
        ...passwordSettings,
        accepted: [...accepted, ...shared],
        onStarted: (seconds) => hashWaits.observe(seconds),
      }),
    (passwords) => passwords.close(),
  )
  const readInstallation = createReadInstallation(db)
  const limitStore = await lifecycle.open(
    () => openLimitStore(config.mail.queueUrl, readInstallation, logger),
    (store) => store?.redis.disconnect(),
  )
  const queue = await lifecycle.open(
    () =>
      openMailQueue(config.mail.queueUrl, {
        readInstallation,
        telemetry: tracing?.bull,
        onError: (error) =>
          logger.debug({ err: error }, 'the mail queue is unavailable; mail waits in the outbox'),
      }),
    (queue) => queue.close(),
  )
  const dispatcher = await lifecycle.open(
    () =>
      createMailDispatcher({
        outbox: createOutboxRepository(db),
        queue,
        localNow: Date.now,
        onError(error, mailId) {
          logger.debug({ err: error, mailId }, 'dispatching a mail failed; the outbox sweep will retry it')
          if (!failures.reportNamed(error)) failures.report('queue', error)
        },
      }),
    (dispatcher) => dispatcher.close(),
  )
  return { db, passwords, limitStore, queue, dispatcher }
}

async function readSettings(environment: Environment) {
  const [config, [extensions, providers]] = await parseBoth(
    () => parseConfig(environment),
    () =>
      parseBoth(
        async () => configureExtensions(await loadExtensions(), environment),
        () => loadProviders(parseSettings(['OIDC_PROVIDERS'], environment).OIDC_PROVIDERS, environment),
      ),
  )
  requireKnownRoles(config.secondFactor.roles, declaredRoles(extensions))
  return { config, extensions, providers }
}

/** A misspelt role would leave the users of the meant one without a second factor. */
function requireKnownRoles(roles: readonly string[], declared: readonly string[]): void {
  const unknown = roles.find((role) => !declared.includes(role))
  if (unknown !== undefined)
    throw new SettingsError([
      `SECOND_FACTOR_ROLES names ${unknown}, which no route can require${didYouMean(unknown, declared)}. Name some of ${declared.join(', ')}.`,
    ])
}

/** Serves `GET /metrics` as Prometheus text, on its own port so that an ingress never exposes it. */
function buildMetricsServer(registry: Registry): FastifyInstance {
  const server = Fastify()
  server.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  return server
}
