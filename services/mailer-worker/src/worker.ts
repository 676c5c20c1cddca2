import { rootReason } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { registerDependencyGauge } from '@latchkey/shared/health/dependency-gauge.ts'
import { createReadiness, type Readiness, rememberingSuccess } from '@latchkey/shared/health/readiness.ts'
import { registerOutboxAge } from '@latchkey/shared/mail-outbox/outbox-age.ts'
import {
  createOutboxRepository,
  type OutboxRepository,
} from '@latchkey/shared/mail-outbox/outbox-repository.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import { createSettlement, type Settlement } from '@latchkey/shared/mail-outbox/settle-mail.ts'
import { createOutboxSweep } from '@latchkey/shared/mail-outbox/sweep-outbox.ts'
import type { MailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import type { Tracing } from '@latchkey/shared/telemetry/tracing.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from './config.ts'
import { createQueueConsumer, type Takeover } from './consume-queue.ts'
import type { MailEnvelope } from './envelope/mail-envelope.ts'
import { buildHealthServer } from './health-server.ts'
import { createMailMetrics, type MailMetrics } from './mail-metrics.ts'
import { createPurge } from './purge-expired.ts'
import { registerQueueGauges } from './queue-gauges.ts'
import { createRepeatedTask } from './repeated-task.ts'
import { createSendMail, type SendMailDependencies } from './send-mail.ts'
import type { Sender } from './senders/sender.ts'
import { traceSender } from './senders/trace-sender.ts'

export interface WorkerDependencies {
  db: Database
  queue: MailQueue
  sender: Sender
  envelope: MailEnvelope
  logger: Logger
  registry: Registry
  tracing?: Tracing | undefined
  takeover?: Takeover | undefined
  clock?: Clock
}

export interface Worker {
  /** Serves health and metrics; must listen before `start`. */
  server: FastifyInstance
  readiness: Readiness
  /** Takes mail from now on, sweeps the outbox and purges expired rows. Does nothing after `stop`. */
  start(): void
  /**
   * Takes no more mail and finishes the mail in flight. What the mail server has not accepted after `patienceMs` goes
   * back to the queue, for another worker.
   */
  stop(patienceMs: number): Promise<void>
}

/** What every part of the worker is built from. */
interface Parts extends Required<Omit<WorkerDependencies, 'tracing' | 'takeover'>> {
  config: Config
  tracing: Tracing | undefined
  takeover: Takeover | undefined
  metrics: MailMetrics
  outbox: OutboxRepository
  settlement: Settlement
}

/** Each check opens a connection to the mail server and logs in. */
const MAIL_CHECK_HOLDS_MS = 30_000
/** Sweeps between two questions to the queue whether it still has a dispatched mail. */
const SWEEPS_PER_RECHECK = 6
const PURGE_PAUSE_MS = 600_000
const PING = { name: 'health-ping', text: 'select 1 as ok' }

/** Joins the parts of mailer-worker. Consumes nothing until `start`, and closes nothing that it was given. */
export function buildWorker(config: Config, dependencies: WorkerDependencies): Worker {
  const { db, queue, logger, registry, tracing, takeover, clock = Date.now } = dependencies
  const outbox = createOutboxRepository(db)
  const settlement = createSettlement({ outbox, logger })
  const metrics = createMailMetrics(registry)
  const parts: Parts = { ...dependencies, config, tracing, takeover, clock, metrics, outbox, settlement }
  registerQueueGauges(registry, { queue, outbox })
  registerOutboxAge(registry, { outbox, clock })

  const patience = new AbortController()
  const consumer = buildConsumer(parts, patience.signal)
  const tasks = [buildSweep(parts), buildPurge(parts)]
  const readiness = buildReadiness(parts)
  const server = buildHealthServer(readiness, registry)
  addQueueBoard(server, parts)
  return {
    server,
    readiness,
    start() {
      consumer.start()
      for (const task of tasks) task.start()
    },
    async stop(patienceMs) {
      readiness.drain()
      const timer = setTimeout(() => patience.abort(), patienceMs)
      await Promise.all([consumer.stop(), ...tasks.map((task) => task.stop())])
      clearTimeout(timer)
    },
  }
}

/** In prod and staging for those who know the token; elsewhere open, like the inbox. */
function addQueueBoard(server: FastifyInstance, { config, queue }: Parts): void {
  const { token } = config.board
  if (token === undefined && !hasDemoUsers(config.environment)) return
  // Loaded where it is served: the start of a worker does not wait for it elsewhere.
  server.register(async (scope) => {
    const { queueBoard } = await import('./queue-board.ts')
    await scope.register(queueBoard, { queue, token })
  })
}

function buildReadiness({ db, queue, sender, registry, clock }: Parts): Readiness {
  const readiness = createReadiness(
    {
      database: async () => (await db.query(PING)) && 'ok',
      queue: async () => (await queue.ping()) ?? 'ok',
      mail: rememberingSuccess(async () => (await sender.verify()) ?? 'ok', MAIL_CHECK_HOLDS_MS, clock),
    },
    { clock },
  )
  registerDependencyGauge(registry, readiness)
  return readiness
}

function buildConsumer(parts: Parts, patience: AbortSignal) {
  const { config, logger, tracing, takeover } = parts
  return createQueueConsumer({
    ...config.queue,
    sendMail: createSendMail(sendMailDependencies(parts, patience)),
    telemetry: tracing?.bull,
    takeover,
    onError: (error) => logger.debug({ reason: error.message }, 'mail queue connection error'),
    onStalled: (mailId) => logger.warn({ mailId }, 'a worker died while it sent this mail; it is sent again'),
  })
}

function sendMailDependencies(parts: Parts, signal: AbortSignal): SendMailDependencies {
  const { config, envelope, sender, settlement, metrics, logger, clock, tracing } = parts
  const { secret, from, domain, brand } = config.mail
  return {
    open: createSealer(secret).open,
    envelope,
    context: { from, environment: config.environment, brand },
    domain,
    send: tracing ? traceSender(sender.send, tracing.runInSpan) : sender.send,
    settlement,
    metrics,
    logger,
    clock,
    signal,
  }
}

function buildSweep({ config, outbox, queue, settlement, metrics, logger, clock }: Parts) {
  const pauseMs = config.outbox.sweepSeconds * 1_000
  const sweep = createOutboxSweep({
    outbox,
    queue,
    metrics,
    logger,
    clock,
    minimumAgeMs: pauseMs,
    recheckMs: SWEEPS_PER_RECHECK * pauseMs,
  })
  return createRepeatedTask({
    pauseMs,
    async work() {
      await settlement.settlePending()
      await sweep()
    },
    ...reportOf('sweeping the outbox', logger),
  })
}

function buildPurge({ config, db, logger, clock }: Parts) {
  return createRepeatedTask({
    pauseMs: PURGE_PAUSE_MS,
    work: createPurge(db, { ...config.audit, clock }),
    ...reportOf('deleting expired rows', logger),
  })
}

/** One line when a task begins to fail, and one when it succeeds again: an outage takes many runs. */
function reportOf(task: string, logger: Logger) {
  return {
    onError: (error: unknown) => logger.warn({ reason: rootReason(error) }, `${task} failed`),
    onRecovery: (failed: number) => logger.info({ failed }, `${task} succeeds again`),
  }
}
