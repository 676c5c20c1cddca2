import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import type { DependencyFailures } from '@latchkey/shared/health/dependency-failures.ts'
import { SealedForAnotherMail, type Sealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import { MailJob } from '@latchkey/shared/mail/queue/mail-job.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { ZodError } from 'zod'
import type { Envelope, EnvelopeContext, MailEnvelope } from './envelope/mail-envelope.ts'
import type { MailMetrics } from './mail-metrics.ts'
import { PermanentFailure, type Sender, SenderFailure } from './senders/sender.ts'
import type { Settlement } from './settle-mail.ts'

export interface SendMailDependencies {
  open: Sealer['open']
  envelope: MailEnvelope
  context: EnvelopeContext
  /** The right side of each Message-ID. */
  domain: string
  send: Sender['send']
  settlement: Pick<Settlement, 'isSettled' | 'settle' | 'keepFailed'>
  /** The failures that the readiness logs, once for all mails. */
  failures: Pick<DependencyFailures, 'report' | 'recover'>
  metrics: MailMetrics
  logger: Record<'debug' | 'info' | 'warn', (details: object, message: string) => void>
  localNow: Clock
  /** Ends the wait for a mail server that does not answer; the mail goes back to the queue. */
  signal?: AbortSignal
}

/** The part of a BullMQ job that sending needs. */
export interface QueuedMail {
  id?: string | undefined
  data: unknown
  /** The time at which Latchkey accepted the mail, in milliseconds since 1970. */
  timestamp: number
  attemptsMade: number
  opts: { attempts?: number | undefined }
  /** The number of times that a worker died while it sent this mail. */
  stalledCounter?: number | undefined
  /** The number of times that it was started since it was added, or since an admin retried it. */
  attemptsStarted?: number
}

export type SendOutcome = 'sent' | 'expired' | 'sent before'

/**
 * Sends one queued mail and deletes its outbox row, without which no job is sent: a queue that was changed or has forgotten
 * something has no mail sent again. Throws `PermanentFailure` when no further attempt could help, and any other error to be
 * retried. No error message contains a variable's value, because BullMQ keeps the message with the job.
 */
export function createSendMail(dependencies: SendMailDependencies) {
  const { open, domain, send, settlement, failures, metrics, logger, localNow, signal } = dependencies

  async function attempt(job: QueuedMail): Promise<SendOutcome> {
    const mail = parseJob(job.data)
    if (Date.parse(mail.expiresAt) <= localNow()) return expire(job, mail)
    if (await settlement.isSettled(idOf(job))) {
      logger.info({ mailId: job.id }, 'skipped: this mail was sent already, and the queue has its job again')
      return 'sent before'
    }
    await deliver(job, mail)
    await settlement.settle(idOf(job))
    failures.recover('mail')
    metrics.sent.inc()
    metrics.waited.observe(Math.max(0, localNow() - job.timestamp) / 1000)
    logger.info({ mailId: job.id, template: mail.template, attempt: job.attemptsMade + 1 }, 'mail sent')
    return 'sent'
  }

  async function expire(job: QueuedMail, { expiresAt }: MailJob): Promise<SendOutcome> {
    // The sweep of another worker may have found it first; the one that deletes the row counts it.
    if (await settlement.settle(idOf(job))) metrics.expired.inc()
    logger.warn({ mailId: job.id, expiresAt }, 'a mail expired before it could be sent')
    return 'expired'
  }

  async function deliver(job: QueuedMail, mail: MailJob): Promise<void> {
    const variables = await openVariables(open, idOf(job), mail)
    try {
      const envelope = await buildEnvelope(dependencies, mail, variables)
      if (hasStalled(job)) announceRepeat(job)
      const stopTimer = metrics.seconds.startTimer()
      await unlessAborted(signal, send({ ...envelope, messageId: `<${job.id}@${domain}>` }))
      stopTimer()
    } catch (error) {
      throw withoutValues(error, { ...variables, to: mail.to })
    }
  }

  function announceRepeat(job: QueuedMail): void {
    metrics.repeated.inc()
    // A counter dies with its process; this line does not.
    logger.warn(
      { mailId: job.id },
      'a worker died or lost the queue while it sent this mail: it may come twice',
    )
  }

  async function fail(job: QueuedMail, error: unknown): Promise<never> {
    const reason = errorMessage(error)
    const isLast = job.attemptsMade + 1 >= (job.opts.attempts ?? 1)
    if (error instanceof PermanentFailure || isLast) {
      await settlement.keepFailed(idOf(job))
      metrics.failed.inc()
      logger.warn({ mailId: job.id, reason }, 'a mail failed permanently')
      throw new PermanentFailure(reason)
    }
    metrics.retried.inc()
    const isOfSender = error instanceof SenderFailure
    if (isOfSender) failures.report('mail', error)
    const details = { mailId: job.id, reason, attempt: job.attemptsMade + 1 }
    logger[isOfSender ? 'debug' : 'warn'](details, 'a mail will be retried')
    throw new Error(reason)
  }

  return (job: QueuedMail): Promise<SendOutcome> => attempt(job).catch((error) => fail(job, error))
}

const idOf = (job: QueuedMail): string => job.id ?? ''

/** The count of stalls outlives an admin's retry. */
const hasStalled = (job: QueuedMail): boolean =>
  (job.stalledCounter ?? 0) > 0 && (job.attemptsStarted ?? 0) > 1

function parseJob(data: unknown): MailJob {
  const parsed = MailJob.safeParse(data)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`)
  throw new PermanentFailure(`The job is malformed: ${faults.join('; ')}`)
}

async function openVariables(
  open: Sealer['open'],
  id: string,
  mail: MailJob,
): Promise<Record<string, string>> {
  try {
    return await open(id, mail)
  } catch (error) {
    if (error instanceof SealedForAnotherMail) throw new PermanentFailure(error.message)
    // A worker of the version that sealed them can still send it.
    if (error instanceof ZodError) throw new Error('The variables were sealed by another version of Latchkey')
    // During a rotation of MAIL_SECRET a worker with the other secret can still send it.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_JWE_DECRYPTION_FAILED') {
      throw new Error(
        'The variables cannot be opened: they were sealed with another MAIL_SECRET than those of this worker',
      )
    }
    throw new PermanentFailure('The job is malformed: variables are not a JWE that Latchkey sealed')
  }
}

/** MAIL_ENVELOPE is the operator's code: another header or another recipient is refused. */
async function buildEnvelope(
  { envelope, context }: Pick<SendMailDependencies, 'envelope' | 'context'>,
  { to, subject, template, language }: MailJob,
  variables: Readonly<Record<string, string>>,
): Promise<Envelope> {
  const built = await envelope(to, subject, template, variables, language, context)
  if (/[\r\n]/.test(built.subject + built.from))
    throw new PermanentFailure(
      'MAIL_ENVELOPE returned a subject or sender with a line break; each must be one line',
    )
  if (built.to !== to)
    throw new PermanentFailure('MAIL_ENVELOPE changed `to`; it must return the address that it was given')
  return built
}

/** A mail server may quote the mail it refuses. */
function withoutValues(error: unknown, variables: Readonly<Record<string, string>>): Error {
  const clean = Object.values(variables)
    .filter((value) => value.length >= 4)
    .flatMap((value) => [value, value.replace(/(.{3})(?=.)/gsu, '$1 ')])
    .reduce((text, value) => text.replaceAll(value, '[redacted]'), errorMessage(error))
  const Kind = [PermanentFailure, SenderFailure].find((each) => error instanceof each) ?? Error
  return new Kind(clean)
}

/** The result of `work`, or a rejection once `signal` is aborted; `work` itself continues. */
async function unlessAborted<Result>(
  signal: AbortSignal | undefined,
  work: Promise<Result>,
): Promise<Result> {
  if (!signal) return work
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(new Error('The worker was stopped before the mail server answered'))
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
