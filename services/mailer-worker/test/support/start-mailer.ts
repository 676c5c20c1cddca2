import { randomBytes } from 'node:crypto'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { createMails, type Mail } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import { createMailDispatcher } from '@latchkey/shared/mail/outbox/dispatch-mail.ts'
import type { MailTemplates } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { openMailbox } from '@latchkey/test-support/mailbox.ts'
import type { Logger } from 'pino'
import type { Email } from 'postal-mime'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import type { MailEnvelope } from '../../src/envelope/mail-envelope.ts'
import { loadExternal } from '../../src/load-external.ts'
import { buildWorker } from '../../src/worker.ts'
import { anAddress } from './mail-system.ts'
import { createOwnServers } from './own-servers.ts'

export interface Mailer<Templates extends MailTemplates> extends AsyncDisposable {
  /**
   * Accepts a mail as a use case does, and waits until a mail server has it and nothing of it is left in the outbox.
   * Returns the mail as the server received it, and the id of its job.
   */
  deliver<Name extends keyof Templates & string>(
    mail: Pick<Mail<Templates, Name>, 'template' | 'language' | 'variables'>,
  ): Promise<{ id: string; mail: Email }>
}

/** mailer-worker in this process with these mails, by default with `config/external.ts`, and the mail outbox of auth-api. */
export async function startMailer<Templates extends MailTemplates>({
  templates,
  envelope,
}: {
  templates: Templates
  envelope?: MailEnvelope
}): Promise<Mailer<Templates>> {
  await using stack = new AsyncDisposableStack()
  const mailbox = stack.use(await openMailbox())
  const servers = stack.use(await createOwnServers())
  const environment = {
    APP_ENV: 'test',
    DATABASE_URL: servers.databaseUrl,
    QUEUE_URL: servers.queueUrl,
    MAIL_URL: mailbox.url,
    MAIL_FROM: 'no-reply@example.com',
    MAIL_SECRET: randomBytes(32).toString('base64'),
  }
  const logLines: string[] = []
  const logger = createLogger('mailer-worker', 'debug', { write: (line) => void logLines.push(line) })
  const { db, outbox, dispatcher, sealer } = await startWorker(stack, { environment, envelope, logger })
  const mails = createMails({ templates, sealer, dispatcher, localNow: Date.now })
  const running = stack.move()

  return {
    async deliver(mail) {
      const to = anAddress()
      const expiresAt = new Date(Date.now() + 3_600_000)
      const id = await db.transaction((transaction) => mails.accept(transaction, { ...mail, to, expiresAt }))
      const isRetried = () => logLines.some((line) => line.includes(id) && line.includes('will be retried'))
      await expect.poll(async () => isRetried() || !(await outbox.has(id))).toBe(true)
      const [received] = mailbox.to(to)
      if (!received) throw new Error(`The mail was not sent:\n${logLines.join('')}`)
      expect(mailbox.to(to)).toHaveLength(1)
      return { id, mail: received }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

async function startWorker(
  stack: AsyncDisposableStack,
  given: { environment: Environment; envelope: MailEnvelope | undefined; logger: Logger },
) {
  const { environment, logger } = given
  const config = parseConfig(environment)
  const { createSender, envelope } = await loadExternal(environment)
  const db = stack.adopt(await openDatabase(config.database.url), (db) => db.close())
  const readInstallation = createReadInstallation(db)
  const queue = stack.adopt(openMailQueue(config.queue.url, { readInstallation }), (queue) => queue.close())
  const outbox = createOutboxRepository(db)
  const dispatcher = stack.adopt(
    createMailDispatcher({ outbox, queue, localNow: Date.now, maxDelayMs: 0 }),
    (dispatcher) => dispatcher.close(),
  )
  const sender = stack.adopt(createSender(config.mail.url, { concurrency: 1 }), (sender) => sender.close())
  const parts = {
    db,
    queue,
    readInstallation,
    sender,
    envelope: given.envelope ?? envelope,
    logger,
    registry: new Registry(),
  }
  const worker = buildWorker(config, parts)
  stack.defer(() => worker.stop(0))
  worker.start()
  return { db, outbox, dispatcher, sealer: createSealer(config.mail.secret) }
}
