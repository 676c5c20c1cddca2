import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { reportReadiness } from '@latchkey/shared/health/report-readiness.ts'
import { createOutboxDispatcher } from '@latchkey/shared/mail-outbox/dispatch-mail.ts'
import { createOutboxRepository } from '@latchkey/shared/mail-outbox/outbox-repository.ts'
import { openMailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/parse-settings.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { startTracing } from '@latchkey/shared/telemetry/tracing.ts'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { buildApp } from './app.ts'
import { parseConfig } from './config.ts'
import { buildMetricsServer } from './metrics-server.ts'
import { openLimitStore } from './plugins/rate-limit/limit-store.ts'
import { createRequestTracing } from './plugins/trace-requests.ts'

const { config, environment } = readConfig()
const logger = createLogger('auth-api', config.log.level)
const tracing = await startTracing('auth-api', environment, logger)
if (config.passwords.scheme === 'sha1') {
  logger.warn('PASSWORD_HASH is sha1: stolen hashes are found out within hours. Set PASSWORD_HASH=argon2id.')
}

const registry = new Registry()
collectDefaultMetrics({ register: registry })
const db = openDatabase(config.database.url, {
  poolSize: config.database.poolSize,
  onConnectionError: (error) => logger.warn({ err: error }, 'a database connection broke'),
})
const passwords = createPasswordHasher(config.passwords)
const queue = openMailQueue(config.mail.queueUrl, {
  telemetry: tracing?.bull,
  onError: (error) => logger.debug({ err: error }, 'the mail queue is away; mail waits in the outbox'),
})
const dispatcher = createOutboxDispatcher({ outbox: createOutboxRepository(db), queue, logger })
const limitStore = openLimitStore(config.mail.queueUrl, logger)
const { server, readiness } = await buildApp(config, {
  db,
  passwords,
  dispatcher,
  queue,
  logger,
  limitStore,
  registry,
  traceRequests: tracing && (await createRequestTracing()),
})
const metricsServer = buildMetricsServer(registry)

process.once('SIGTERM', () => void stop('SIGTERM'))
process.once('SIGINT', () => void stop('SIGINT'))
// `npm start` spawns this process; when that ends without a word, there is nobody left to serve.
process.once('disconnect', () => void stop('disconnect'))

await listen()
readiness.serve()
const report = reportReadiness({
  readiness,
  urls: { database: config.database.url, queue: config.mail.queueUrl },
  logger,
  address: () => server.listeningOrigin,
})

async function listen(): Promise<void> {
  try {
    await server.listen({ host: config.http.host, port: config.http.port })
    await metricsServer.listen({ host: config.http.host, port: config.http.metricsPort })
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    logger.fatal(
      isTaken ? {} : { err: error },
      isTaken ? `${(error as Error).message}: another process listens there` : 'cannot listen',
    )
    process.exit(1)
  }
}

/** Lets the load balancer notice, answers what is in hand, then closes what was opened, in reverse order. */
async function stop(reason: string): Promise<void> {
  if (readiness.isDraining()) return
  logger.info({ reason }, 'stopping')
  readiness.drain()
  const reported = report.stop()
  const deadline = setTimeout(
    () => {
      logger.error('requests were still in hand at the end of SHUTDOWN_GRACE')
      process.exit(1)
    },
    (config.shutdown.delaySeconds + config.shutdown.graceSeconds) * 1000,
  )
  deadline.unref()
  await wait(config.shutdown.delaySeconds * 1000)
  // Connections that fall idle once their answer is out would otherwise hold the close back.
  const sweep = setInterval(() => server.server.closeIdleConnections(), 50)
  await server.close()
  clearInterval(sweep)
  await metricsServer.close()
  await reported
  await dispatcher.close()
  await queue.close()
  limitStore?.disconnect()
  await passwords.close()
  await db.close()
  await tracing?.stop()
  logger.info('stopped')
  process.exit(0)
}

function readConfig() {
  try {
    const environment = loadEnvironment(process.env)
    return { config: parseConfig(environment), environment }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(EXIT_CONFIGURATION)
  }
}
