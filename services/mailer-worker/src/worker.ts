import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createReadiness, rememberingSuccess } from '@latchkey/shared/health/readiness.ts'
import type { MailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import { createOutboxRepository } from '@latchkey/shared/mail-queue/outbox-repository.ts'
import { createSealer } from '@latchkey/shared/mail-queue/seal-variables.ts'
import type { Tracing } from '@latchkey/shared/telemetry/tracing.ts'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from './config.ts'
import type { MailEnvelope } from './envelope/mail-envelope.ts'
import { buildHealthServer } from './health-server.ts'
import { createMailMetrics } from './mail-metrics.ts'
import { createResetPurge } from './purge-resets.ts'
import { registerQueueGauges } from './queue-gauges.ts'
import { repeatEvery } from './repeated-task.ts'
import { createSendMail } from './send-mail.ts'
import type { Sender } from './senders/sender.ts'
import { createSettlement } from './settle-mail.ts'
import { createOutboxSweep } from './sweep-outbox.ts'
import { workQueue } from './consume-queue.ts'

export interface WorkerDependencies {
  db: Database
  queue: MailQueue
  sender: Sender
  envelope: MailEnvelope
  logger: Logger
  registry: Registry
  tracing?: Tracing | undefined
  clock?: Clock
}

/** Each check is a connection and a login of its own. */
const MAIL_CHECK_HOLDS_MS = 30_000
/** Whether the queue still has a dispatched mail is asked that much more seldom than the outbox is swept. */
const SWEEPS_PER_RECHECK = 6
const HOUR_MS = 3_600_000
const PING = { name: 'health-ping', text: 'select 1 as ok' }

/** Joins the parts of mailer-worker and sets them to work. Opens no connection of its own but the queue's. */
export function startWorker(config: Config, dependencies: WorkerDependencies) {
  const { db, queue, sender, envelope, logger, registry, tracing, clock = Date.now } = dependencies
  const metrics = createMailMetrics(registry)
  const outbox = createOutboxRepository(db)
  registerQueueGauges(registry, { queue, outbox })

  const readiness = createReadiness(
    {
      database: async () => (await db.query(PING)) && 'ok',
      queue: async () => (await queue.ping()) ?? 'ok',
      mail: rememberingSuccess(async () => (await sender.verify()) ?? 'ok', MAIL_CHECK_HOLDS_MS, clock),
    },
    clock,
  )

  const givingBack = new AbortController()
  const settlement = createSettlement({ outbox, logger })
  const sendMail = createSendMail({
    open: createSealer(config.mail.secret).open,
    envelope,
    context: { from: config.mail.from, environment: config.environment },
    domain: config.mail.domain,
    send: sender.send,
    settlement,
    metrics,
    logger,
    clock,
    signal: givingBack.signal,
  })
  const sweepMs = config.outbox.sweepSeconds * 1_000
  const sweep = createOutboxSweep({
    outbox,
    queue,
    metrics,
    logger,
    clock,
    minimumAgeMs: sweepMs,
    recheckMs: SWEEPS_PER_RECHECK * sweepMs,
  })
  const settleAndSweep = async () => {
    await settlement.settleRest()
    await sweep()
  }

  const consumer = workQueue({
    ...config.queue,
    sendMail,
    telemetry: tracing?.bull,
    onError: (error) => logger.debug({ reason: error.message }, 'the queue of mails'),
    onStalled: (mailId) => logger.warn({ mailId }, 'a worker died with this mail in hand; it is sent again'),
  })
  const sweeping = repeatEvery(sweepMs, settleAndSweep, (error) =>
    logger.warn({ reason: reasonOf(error) }, 'the outbox cannot be swept'),
  )
  const purging = repeatEvery(HOUR_MS, createResetPurge(db, clock), (error) =>
    logger.warn({ reason: reasonOf(error) }, 'old resets cannot be deleted'),
  )

  return {
    server: buildHealthServer(readiness, registry),
    readiness,
    /**
     * Takes no more mail, finishes what is in hand. What the mail server has not taken after `patienceMs` goes back to
     * the queue, for another worker.
     */
    async stop(patienceMs: number): Promise<void> {
      readiness.drain()
      const patience = setTimeout(() => givingBack.abort(), patienceMs)
      await Promise.all([consumer.close(), sweeping.stop(), purging.stop()])
      clearTimeout(patience)
    },
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
