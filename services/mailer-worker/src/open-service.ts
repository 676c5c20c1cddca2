import { domainToASCII } from 'node:url'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { announceReady } from '@latchkey/shared/lifecycle/announce-ready.ts'
import { listen } from '@latchkey/shared/lifecycle/listen.ts'
import { openContext } from '@latchkey/shared/lifecycle/open-context.ts'
import type { Lifecycle } from '@latchkey/shared/lifecycle/run-service.ts'
import { warnOfClearText } from '@latchkey/shared/lifecycle/warn-of-clear-text.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { findSenderDomain } from '@latchkey/shared/settings/addresses.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { parseBoth } from '@latchkey/shared/settings/settings-error.ts'
import { traceDatabase } from '@latchkey/shared/telemetry/trace-database.ts'
import { type Config, POOL_SIZE, parseConfig } from './config.ts'
import type { Takeover } from './consume-queue.ts'
import { loadExternal } from './load-external.ts'
import type { SenderOptions } from './senders/sender.ts'
import { buildWorker } from './worker.ts'

/** The share of SHUTDOWN_GRACE in which mail that is being sent may finish. In the rest it goes back to the queue. */
const GRACEFUL_SHARE = 0.7

/** Opens mailer-worker: its connections, its server, then its consumer. */
export async function openService(
  lifecycle: Lifecycle,
  environment: NodeJS.ProcessEnv,
  takeover?: Takeover,
): Promise<void> {
  const { config, envelope, createSender, logger, tracing, registry } = await openContext(lifecycle, {
    name: 'mailer-worker',
    processEnvironment: environment,
    readSettings,
    timeoutMessage: 'a mail was still being sent at the end of SHUTDOWN_GRACE; it will be sent again',
  })
  const urls = { DATABASE_URL: config.database.url, QUEUE_URL: config.queue.url, MAIL_URL: config.mail.url }
  warnOfClearText({ environment: config.environment, urls, logger })
  const database = await lifecycle.open(
    () =>
      openDatabase(config.database.url, {
        poolSize: POOL_SIZE,
        onConnectionError: (error) => logger.debug({ err: error }, 'a database connection broke'),
      }),
    (database) => database.close(),
  )
  const db = tracing ? traceDatabase(database, tracing.runInSpan) : database
  const readInstallation = createReadInstallation(db)
  const queue = await lifecycle.open(
    () =>
      openMailQueue(config.queue.url, {
        readInstallation,
        telemetry: tracing?.bull,
        onError: (error) => logger.debug({ reason: error.message }, 'mail queue connection error'),
      }),
    (queue) => queue.close(),
  )
  const sender = await lifecycle.open(
    () => createSender(config.mail.url, senderOptionsOf(config)),
    (sender) => sender.close(),
  )

  const worker = buildWorker(config, {
    db,
    queue,
    readInstallation,
    sender,
    envelope,
    logger,
    registry,
    tracing,
    takeover,
  })
  await listen(lifecycle, worker.server, { ...config.http, portSetting: 'METRICS_PORT' })
  await lifecycle.open(
    () => worker.start(),
    () => worker.stop(config.shutdown.graceSeconds * 1000 * GRACEFUL_SHARE),
  )
  await announceReady(lifecycle, {
    readiness: worker.readiness,
    urls: { database: config.database.url, queue: config.queue.url, mail: config.mail.url },
    logger,
    address: () => worker.server.listeningOrigin,
  })
}

function senderOptionsOf({ mail, queue }: Config): SenderOptions {
  const { domainName, keySelector, privateKey } = mail.dkim
  return {
    concurrency: queue.concurrency,
    name: domainToASCII(findSenderDomain(mail.from) ?? ''),
    // The settings of the signature are given together or not at all.
    ...(domainName && keySelector && privateKey ? { dkim: { domainName, keySelector, privateKey } } : {}),
  }
}

async function readSettings(environment: Environment) {
  const [config, external] = await parseBoth(
    () => parseConfig(environment),
    () => loadExternal(environment),
  )
  return { config, ...external }
}
