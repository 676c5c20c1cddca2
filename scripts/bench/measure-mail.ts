import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { createMails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import type { MailJob } from '@latchkey/shared/mail/queue/mail-job.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { SMTPServer } from 'smtp-server'
import type { Line } from './line.ts'
import { startWorker } from './run/hosts.ts'
import type { Target } from './run/target.ts'

const MAILS = 5_000
const TTL_MS = 3_600_000
/** Mails added together, so few that a busy machine adds them before the queue's operations time out. */
const ADDED_TOGETHER = 250

/** Fills outbox and queue, then measures how fast one worker empties them into an SMTP server. */
export async function measureMail(target: Target): Promise<Line[]> {
  await fillQueue(target)
  const acceptedAt: number[] = []
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData(stream, _session, callback) {
      stream.resume().on('end', () => {
        acceptedAt.push(performance.now())
        callback()
      })
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  try {
    const { port } = server.server.address() as AddressInfo
    await using worker = await startWorker(target, `smtp://127.0.0.1:${port}?ignoreTLS=true`)
    const before = await worker.cpuMicros()
    while (acceptedAt.length < MAILS) await wait(20)
    const cpu = (await worker.cpuMicros()) - before
    const [first = 0, last = 0] = [acceptedAt[0], acceptedAt.at(-1)]
    return [
      {
        host: `mailer-worker, queue in ${target.queueUrl.split(':', 1)}`,
        'per s': (MAILS - 1) / ((last - first) / 1_000),
        'CPU µs': cpu / MAILS,
        'resident MiB': (await worker.memory()).residentMib,
      },
    ]
  } finally {
    server.close()
  }
}

/** Accepts and queues the mails as the API does it, but for the random delay. */
async function fillQueue({ databaseUrl, queueUrl, mailSecret, users }: Target): Promise<void> {
  const db = await openDatabase(databaseUrl)
  const queue = openMailQueue(queueUrl, { readInstallation: createReadInstallation(db) })
  const accepted: [id: string, job: MailJob][] = []
  const mails = createMails({
    templates: MAIL_TEMPLATES,
    sealer: createSealer(Buffer.from(mailSecret, 'base64')),
    dispatcher: { dispatch: (id, job) => void accepted.push([id, job]), discard: () => undefined },
    localNow: Date.now,
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
    await db.runScript('update mail_outbox set dispatched_at = current_timestamp')
  } finally {
    await queue.close()
    await db.close()
  }
}
