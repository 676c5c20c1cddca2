import type { Database } from '@latchkey/shared/database/database.ts'
import type { ReadInstallation } from '@latchkey/shared/database/installation.ts'
import { ping } from '@latchkey/shared/database/ping.ts'
import {
  createDependencyFailures,
  type DependencyFailures,
} from '@latchkey/shared/health/dependency-failures.ts'
import { registerDependencyGauge } from '@latchkey/shared/health/dependency-gauge.ts'
import { createReadiness, type Readiness, rememberingSuccess } from '@latchkey/shared/health/readiness.ts'
import { createRepeatedTask } from '@latchkey/shared/lifecycle/repeated-task.ts'
import { registerDispatchAge, registerOutboxAge } from '@latchkey/shared/mail/outbox/outbox-age.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import { checkQueue } from '@latchkey/shared/mail/queue/check-queue.ts'
import { LATER_PAUSE_MS } from '@latchkey/shared/mail/queue/job-options.ts'
import type { MailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { createPurgeTask } from '@latchkey/shared/maintenance/purge-expired.ts'
import { findSenderDomain } from '@latchkey/shared/settings/addresses.ts'
import type { Tracing } from '@latchkey/shared/telemetry/tracing.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from './config.ts'
import { createQueueConsumer, type Takeover } from './consume-queue.ts'
import type { MailEnvelope } from './envelope/mail-envelope.ts'
import { buildHealthServer } from './health-server.ts'
import { createMailMetrics } from './mail-metrics.ts'
import { registerQueueGauges } from './queue-gauges.ts'
import { createSendMail } from './send-mail.ts'
import type { Sender } from './senders/sender.ts'
import { createSettlement } from './settle-mail.ts'
import { createOutboxSweep } from './sweep-outbox.ts'

export interface WorkerDependencies {
  db: Database
  queue: MailQueue
  readInstallation: ReadInstallation
  sender: Sender
  envelope: MailEnvelope
  logger: Logger
  registry: Registry
  tracing?: Tracing | undefined
  takeover?: Takeover | undefined
  localNow?: Clock
}

export interface Worker {
  /** Serves health, metrics and `/queue`; must listen before `start`. */
  server: FastifyInstance
  readiness: Readiness
  /** Takes mail from now on, sweeps the outbox and purges expired rows. Does nothing after `stop`. */
  start(): void
  /**
   * Takes no more mail and finishes the mail in flight. What the mail server has not accepted after `graceMs` goes
   * back to the queue, for another worker.
   */
  stop(graceMs: number): Promise<void>
}

/** The time for which a check of the mail server holds: each one opens a connection and logs in. */
const MAIL_CHECK_HOLDS_MS = 30_000
/** Mail servers may let a client wait for their greeting. Every probe waits 5 s. */
const MAIL_CHECK_TIMEOUT_MS = 4_000
/** A mail server that passes its check and refuses mail is one outage, from attempt to attempt. */
const MAIL_FAILURE_HOLDS_MS = 1.1 * LATER_PAUSE_MS
/** Sweeps between two questions to the queue whether it still has a dispatched mail. */
const SWEEPS_PER_RECHECK = 6

/** Builds mailer-worker. It consumes nothing until `start`, and closes nothing that it was given. */
export function buildWorker(config: Config, dependencies: WorkerDependencies): Worker {
  const { db, queue, readInstallation, sender, envelope, logger, registry, tracing, takeover } = dependencies
  const { localNow = Date.now } = dependencies
  const outbox = createOutboxRepository(db)
  const settlement = createSettlement({ outbox, logger })
  const failures = createDependencyFailures(localNow)
  const metrics = createMailMetrics(registry)
  registerQueueGauges(registry, queue)
  registerOutboxAge(registry, { outbox, localNow })
  registerDispatchAge(registry, { outbox, localNow })

  const { secret, previousSecret, from, brand } = config.mail
  const graceEnd = new AbortController()
  const sendMail = createSendMail({
    open: createSealer(secret, previousSecret).open,
    envelope,
    context: { from, environment: config.environment, brand },
    domain: findSenderDomain(from) ?? from,
    send: tracing
      ? (mail) => tracing.runInSpan('send mail', serverOf(config.mail.url), () => sender.send(mail))
      : sender.send,
    settlement,
    failures,
    metrics,
    logger,
    localNow,
    signal: graceEnd.signal,
  })
  const onError = (error: Error) => logger.debug({ reason: error.message }, 'mail queue connection error')
  const consumer = createQueueConsumer({
    ...config.queue,
    readInstallation,
    sendMail,
    telemetry: tracing?.bull,
    takeover,
    onError,
    onStalled: (mailId) =>
      logger.warn(
        { mailId },
        'a worker died, or lost the queue, while it sent this mail; another one takes it over',
      ),
  })

  const sweepPauseMs = config.outbox.sweepSeconds * 1_000
  const recheckMs = SWEEPS_PER_RECHECK * sweepPauseMs
  const ages = { minimumAgeMs: sweepPauseMs, recheckMs }
  const sweepOutbox = createOutboxSweep({ outbox, queue, metrics, logger, localNow, ...ages })
  const sweep = createRepeatedTask({
    name: 'sweeping the outbox',
    pauseMs: sweepPauseMs,
    work: async (signal) => {
      await settlement.settlePending()
      // For one release, so that an update delays no mail: the sweep would bring it a minute later.
      await queue.moveFormer(settlement.isPending).catch(onError)
      await sweepOutbox(signal)
    },
    logger,
  })
  const purge = createPurgeTask({ db, registry, ...config.audit, logger, localNow })

  const readiness = buildReadiness({ db, queue, sender, failures, localNow })
  registerDependencyGauge(registry, readiness)
  const server = buildHealthServer(readiness, registry)
  addQueueBoard(server, config, queue)
  return {
    server,
    readiness,
    start() {
      for (const each of [consumer, sweep, purge]) each.start()
    },
    async stop(graceMs) {
      readiness.drain()
      const timer = setTimeout(() => graceEnd.abort(), graceMs)
      await Promise.all([consumer, sweep, purge].map((each) => each.stop()))
      clearTimeout(timer)
    },
  }
}

/** The mail server, as OpenTelemetry names it; a sender that stores mails has none. */
function serverOf(mailUrl: string): Record<string, string> {
  const { hostname } = new URL(mailUrl)
  return hostname === '' ? {} : { 'server.address': hostname }
}

const buildReadiness = ({
  db,
  queue,
  sender,
  failures,
  localNow,
}: Pick<WorkerDependencies, 'db' | 'queue' | 'sender'> & {
  failures: DependencyFailures
  localNow: Clock
}): Readiness =>
  createReadiness(
    {
      database: () => ping(db).then(({ busy }) => busy ?? 'ok'),
      queue: checkQueue(queue),
    },
    {
      // Mail waits in the queue while the server is unavailable. A new version must be able to replace one that cannot send.
      optional: {
        mail: rememberingSuccess(() => sender.verify().then(() => 'ok'), MAIL_CHECK_HOLDS_MS, localNow),
      },
      optionalTimeoutMs: MAIL_CHECK_TIMEOUT_MS,
      failures,
      failureHoldsMs: MAIL_FAILURE_HOLDS_MS,
      localNow,
    },
  )

/** Serves `/queue`: where BOARD_TOKEN is set for clients with the token, otherwise in dev and test for everyone, like the inbox. */
function addQueueBoard(server: FastifyInstance, { board, environment }: Config, queue: MailQueue): void {
  const { token } = board
  if (token === undefined && !hasDemoUsers(environment)) return
  // Loaded where it is served: the start of a worker does not wait for it elsewhere.
  server.register(async (scope) => {
    const { queueBoard } = await import('./queue-board.ts')
    await scope.register(queueBoard, { queue, token })
  })
}
