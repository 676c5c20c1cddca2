import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { createMails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { MailJob } from '@latchkey/shared/mail-queue/mail-job.ts'
import { openMailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { startWorker } from '../run/hosts.ts'
import { openMailSink } from '../run/mail-sink.ts'
import type { Target } from '../run/target.ts'

const MAILS = 5_000
const POLL_MS = 20
const TTL_MS = 3_600_000
/** So few that a busy machine adds them before the queue's operations time out. */
const ADDED_TOGETHER = 250

export interface MailResult {
  /** With the server that has the queue. */
  host: string
  mails: number
  perSecond: number
  cpuMicros: number
  residentMib: number
}

/** Measures one worker on the queue of the run and, where that is in Redis, on one in the database as well. */
export async function measureMail(target: Target): Promise<MailResult[]> {
  const { databaseUrl, queueUrl } = target
  const urls = new Set([queueUrl, ...(isPostgres(databaseUrl) ? [databaseUrl] : [])])
  const results: MailResult[] = []
  for (const url of urls) results.push(await measureQueue({ ...target, queueUrl: url }))
  return results
}

const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/** Fills outbox and queue, then measures how fast one worker empties them into an SMTP server. */
async function measureQueue(target: Target): Promise<MailResult> {
  await prepareQueue(target.queueUrl)
  await fillQueue(target)
  await using sink = await openMailSink()
  await using worker = await startWorker(target, sink.url)
  const before = (await worker.cpuMicros()) ?? Number.NaN
  while (sink.acceptedAt.length < MAILS) await wait(POLL_MS)
  const cpu = ((await worker.cpuMicros()) ?? Number.NaN) - before
  const [first = 0, last = 0] = [sink.acceptedAt[0], sink.acceptedAt.at(-1)]
  return {
    host: `mailer-worker, queue in ${isPostgres(target.queueUrl) ? 'PostgreSQL' : 'Redis'}`,
    mails: sink.acceptedAt.length,
    perSecond: (MAILS - 1) / ((last - first) / 1_000),
    cpuMicros: cpu / MAILS,
    residentMib: (await worker.memory())?.residentMib ?? Number.NaN,
  }
}

/** As the API does it, but for the random delay. */
async function fillQueue({ databaseUrl, queueUrl, mailSecret, users }: Target): Promise<void> {
  const db = await openDatabase(databaseUrl)
  const queue = openMailQueue(queueUrl)
  const accepted: [id: string, job: MailJob][] = []
  const mails = createMails({
    templates: MAIL_TEMPLATES,
    sealer: createSealer(Buffer.from(mailSecret, 'base64')),
    dispatcher: { dispatch: (id, job) => void accepted.push([id, job]), discard: () => undefined },
    clock: Date.now,
  })
  const mailOf = (index: number) => ({
    template: 'password-reset' as const,
    to: users.sha1[index % users.sha1.length]?.email ?? '',
    language: 'en',
    variables: { code: '123456', minutes: 10, name: 'User' },
    expiresAt: new Date(Date.now() + TTL_MS),
  })
  try {
    await db.transaction(async (transaction) => {
      for (let index = 0; index < MAILS; index++) await mails.accept(transaction, mailOf(index))
    })
    while (accepted.length > 0)
      await Promise.all(accepted.splice(0, ADDED_TOGETHER).map(([id, job]) => queue.add(id, job)))
    await db.execute({ name: 'bench-dispatched', text: 'update mail_outbox set dispatched_at = $1' }, [
      new Date(),
    ])
  } finally {
    await queue.close()
    await db.close()
  }
}
