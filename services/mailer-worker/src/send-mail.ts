import type { Clock } from '@latchkey/shared/clock.ts'
import type { Sealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { Settlement } from '@latchkey/shared/mail-outbox/settle-mail.ts'
import { MailJob } from '@latchkey/shared/mail-queue/mail-job.ts'
import { UnrecoverableError } from 'bullmq'
import { errors } from 'jose'
import type { Envelope, EnvelopeContext, MailEnvelope } from './envelope/mail-envelope.ts'
import type { MailMetrics } from './mail-metrics.ts'
import { PermanentFailure } from './permanent-failure.ts'
import type { Sender } from './senders/sender.ts'

export interface SendMailDependencies {
  open: Sealer['open']
  envelope: MailEnvelope
  context: EnvelopeContext
  /** The right side of each Message-ID. */
  domain: string
  send: Sender['send']
  settlement: Pick<Settlement, 'isSettled' | 'settle'>
  metrics: MailMetrics
  logger: { info(details: object, message: string): void; warn(details: object, message: string): void }
  clock: Clock
  /** Ends the wait for a mail server that does not answer: the mail goes back to the queue. */
  signal?: AbortSignal
}

/** What of a BullMQ job this needs. */
export interface QueuedMail {
  id?: string | undefined
  data: unknown
  attemptsMade: number
  opts: { attempts?: number | undefined }
  /** How often a worker died with it in hand. */
  stalledCounter?: number | undefined
  /** Starts since it was added, or since an admin had it retried. */
  attemptsStarted?: number
}

export type Outcome = 'sent' | 'expired' | 'sent before'

/**
 * Sends one queued mail and takes it out of the outbox, which is the one place that knows what is still to be sent.
 * Throws `UnrecoverableError` where no further attempt could help, and any other error to be tried again. No message of
 * an error holds a variable's value: BullMQ keeps it with the job.
 */
export function createSendMail(dependencies: SendMailDependencies) {
  const { open, envelope, context, domain, send, settlement, metrics, logger, clock, signal } = dependencies

  async function attempt(job: QueuedMail): Promise<Outcome> {
    const mail = parseJob(job.data)
    if (Date.parse(mail.expiresAt) <= clock()) {
      // The sweep of another worker may have found it first: who takes it out counts it.
      if (await settlement.settle(job.id ?? '')) metrics.expired.inc()
      logger.warn({ mailId: job.id, expiresAt: mail.expiresAt }, 'a mail expired before it could be sent')
      return 'expired'
    }
    // The counter of stalls outlives an admin's retry, which wants the mail sent though it is over.
    const isRepeat = (job.stalledCounter ?? 0) > 0 && (job.attemptsStarted ?? 0) > 1
    if (isRepeat && (await settlement.isSettled(job.id ?? ''))) {
      logger.info({ mailId: job.id }, 'the worker that died had sent this mail')
      return 'sent before'
    }
    const variables = await openVariables(open, mail.variables)
    try {
      const made = checkEnvelope(
        await envelope(mail.to, mail.subject, mail.template, variables, mail.language, context),
        mail.to,
      )
      if (isRepeat) {
        metrics.repeated.inc()
        // A counter dies with its process; this line does not.
        logger.warn({ mailId: job.id }, 'a worker died with this mail in hand: it may come twice')
      }
      const stop = metrics.seconds.startTimer()
      await unlessAborted(signal, send({ ...made, messageId: `<${job.id}@${domain}>` }))
      stop()
    } catch (error) {
      throw withoutValues(error, { ...variables, to: mail.to })
    }
    await settlement.settle(job.id ?? '')
    metrics.sent.inc()
    logger.info({ mailId: job.id, template: mail.template, attempt: job.attemptsMade + 1 }, 'mail sent')
    return 'sent'
  }

  return async (job: QueuedMail): Promise<Outcome> => {
    try {
      return await attempt(job)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const isLast = job.attemptsMade + 1 >= (job.opts.attempts ?? 1)
      if (error instanceof PermanentFailure || isLast) {
        await settlement.settle(job.id ?? '')
        metrics.failed.inc()
        logger.warn({ mailId: job.id, reason }, 'a mail failed for good')
        throw new UnrecoverableError(reason)
      }
      metrics.retried.inc()
      logger.warn({ mailId: job.id, reason, attempt: job.attemptsMade + 1 }, 'a mail will be tried again')
      throw new Error(reason)
    }
  }
}

function parseJob(data: unknown): MailJob {
  const parsed = MailJob.safeParse(data)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`)
  throw new PermanentFailure(`The job is malformed: ${faults.join('; ')}`)
}

async function openVariables(open: Sealer['open'], text: string): Promise<Record<string, string>> {
  try {
    return await open(text)
  } catch (error) {
    // While MAIL_SECRET changes, a worker that has the other one can still send it.
    if (error instanceof errors.JWEDecryptionFailed) {
      throw new Error('The variables cannot be opened: they were sealed with another MAIL_SECRET')
    }
    throw new PermanentFailure('The job is malformed: variables are not sealed as they should be')
  }
}

/** MAIL_ENVELOPE can be anybody's code: what would begin another header or reach another person is refused. */
function checkEnvelope(made: Envelope, to: string): Envelope {
  if (/[\r\n]/.test(made.subject + made.from))
    throw new PermanentFailure('The envelope has a header of two lines')
  if (made.to !== to) throw new PermanentFailure('The envelope goes to somebody else')
  return made
}

/** A mail server may quote the mail it refuses. */
function withoutValues(error: unknown, variables: Readonly<Record<string, string>>): Error {
  const message = error instanceof Error ? error.message : String(error)
  const clean = Object.values(variables)
    .filter((value) => value.length >= 4)
    .flatMap((value) => [value, value.replace(/(.{3})(?=.)/gsu, '$1 ')])
    .reduce((text, value) => text.replaceAll(value, '[redacted]'), message)
  return error instanceof PermanentFailure ? new PermanentFailure(clean) : new Error(clean)
}

/** What `work` comes to, or a rejection once `signal` is aborted; `work` itself goes on. */
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
