import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { reportReadiness } from '@latchkey/shared/health/report-readiness.ts'
import { openMailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/parse-settings.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { startTracing } from '@latchkey/shared/telemetry/tracing.ts'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { parseConfig } from './config.ts'
import { loadExternal, pickSender } from './load-external.ts'
import { buildWorker } from './worker.ts'

const POOL_SIZE = 4
/** Of SHUTDOWN_GRACE; the rest is for giving back what the mail server has not taken by then. */
const PATIENT_SHARE = 0.7

const { config, environment, envelope, createSender } = await readConfig()
const logger = createLogger('mailer-worker', config.log.level)
const tracing = await startTracing('mailer-worker', environment, logger)
const registry = new Registry()
collectDefaultMetrics({ register: registry })

const db = openDatabase(config.database.url, {
  poolSize: POOL_SIZE,
  onConnectionError: (error) => logger.warn({ err: error }, 'a database connection broke'),
})
const queue = openMailQueue(config.queue.url, {
  telemetry: tracing?.bull,
  onError: (error) => logger.debug({ reason: error.message }, 'the queue of mails'),
})
const { concurrency } = config.queue
const sender = createSender(config.mail.url, {
  concurrency,
  ...(config.mail.dkim ? { dkim: config.mail.dkim } : {}),
})
const worker = buildWorker(config, { db, queue, sender, envelope, logger, registry, tracing })

let isStopping = false
process.on('SIGTERM', () => void stop('SIGTERM'))
process.on('SIGINT', () => void stop('SIGINT'))
// `npm start` spawns this process; when that ends without a word, this one ends too.
process.once('disconnect', () => void stop('disconnect'))

await listen()
worker.start()
worker.readiness.serve()
const report = reportReadiness({
  readiness: worker.readiness,
  urls: { database: config.database.url, queue: config.queue.url, mail: config.mail.url },
  logger,
  address: () => worker.server.listeningOrigin,
})

async function listen(): Promise<void> {
  try {
    await worker.server.listen({ host: config.http.host, port: config.http.port })
  } catch (error) {
    logger.fatal({ reason: error instanceof Error ? error.message : String(error) }, 'cannot listen')
    process.exit(1)
  }
}

/** Finishes what is in hand, then closes what was opened, in reverse order. */
async function stop(reason: string): Promise<void> {
  if (isStopping) return
  isStopping = true
  logger.info({ reason }, 'stopping')
  setTimeout(() => {
    logger.error('a mail was still in hand at the end of SHUTDOWN_GRACE; it will be sent again')
    process.exit(1)
  }, config.shutdown.graceSeconds * 1_000).unref()
  await Promise.all([worker.stop(config.shutdown.graceSeconds * 1_000 * PATIENT_SHARE), report.stop()])
  await worker.server.close()
  await sender.close()
  await queue.close()
  await db.close()
  await tracing?.stop()
  logger.info('stopped')
  process.exit(0)
}

async function readConfig() {
  try {
    const environment = loadEnvironment(process.env)
    const config = parseConfig(environment)
    const { envelope, senders } = await loadExternal(config.environment)
    return { config, environment, envelope, createSender: pickSender(senders, config.mail.url) }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(EXIT_CONFIGURATION)
  }
}
