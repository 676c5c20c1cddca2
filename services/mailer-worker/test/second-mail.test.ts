import { randomBytes } from 'node:crypto'
import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { createMails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import { createMailDispatcher } from '@latchkey/shared/mail-outbox/dispatch-mail.ts'
import { MAIL_TEMPLATES, wholeNumber } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { createOutboxRepository } from '@latchkey/shared/mail-outbox/outbox-repository.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import { openMailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { parseConfig } from '../src/config.ts'
import type { MailEnvelope } from '../src/envelope/mail-envelope.ts'
import { createTemplateRenderer } from '../src/envelope/render-template.ts'
import { createSmtpSender } from '../src/senders/smtp.ts'
import { buildWorker } from '../src/worker.ts'
import { anAddress } from './support/mail-system.ts'
import { openMailbox } from './support/mailbox.ts'
import { createOwnServers } from './support/own-servers.ts'

const SHIPPED_TEMPLATES = join(import.meta.dirname, '..', '..', '..', 'templates', 'emails')
const FIXTURE = join(import.meta.dirname, 'fixtures', 'second-mail')

/** The shipped templates, and those of the fixture beside them. */
async function createEnvelope(): Promise<MailEnvelope> {
  const dir = await mkdtemp(join(tmpdir(), 'templates-'))
  for (const source of [SHIPPED_TEMPLATES, FIXTURE]) await cp(source, dir, { recursive: true })
  const render = createTemplateRenderer(dir)
  return async (to, _subject, template, variables, language, { from }) => ({
    from,
    to,
    ...(await render(template, language, variables)),
  })
}

// A second mail is its template's files, one entry, and one call.
const templates = {
  ...MAIL_TEMPLATES,
  invitation: z.strictObject({ inviter: z.string(), link: z.url(), days: wholeNumber }),
}

it('a second mail goes from one call to the mail server', async () => {
  await using servers = await createOwnServers()
  await using mailbox = await openMailbox()
  await using stack = new AsyncDisposableStack()
  const config = parseConfig({
    APP_ENV: 'test',
    DATABASE_URL: servers.databaseUrl,
    QUEUE_URL: servers.queueUrl,
    MAIL_URL: mailbox.url,
    MAIL_FROM: 'no-reply@example.com',
    MAIL_SECRET: randomBytes(32).toString('base64'),
  })
  const db = stack.adopt(await openDatabase(servers.databaseUrl), (db) => db.close())
  const queue = stack.adopt(openMailQueue(servers.queueUrl), (queue) => queue.close())
  const outbox = createOutboxRepository(db)
  const logger = createLogger('mailer-worker', 'fatal')
  const dispatcher = stack.adopt(
    createMailDispatcher({ outbox, queue, logger, maxDelayMs: 0 }),
    (dispatcher) => dispatcher.close(),
  )
  const sender = stack.adopt(createSmtpSender(mailbox.url, { concurrency: 1 }), (sender) => sender.close())
  const envelope = await createEnvelope()
  const worker = buildWorker(config, { db, queue, sender, envelope, logger, registry: new Registry() })
  stack.defer(() => worker.stop(0))
  worker.start()

  const sealer = createSealer(config.mail.secret)
  const mails = createMails({ templates, sealer, dispatcher, clock: Date.now })
  const to = anAddress()
  const link = 'https://example.com/?id=1&again=2'
  const id = await db.transaction((transaction) =>
    mails.accept(transaction, {
      template: 'invitation',
      to,
      language: 'fr',
      variables: { inviter: 'Zoë & Co', link, days: 7 },
      expiresAt: new Date(Date.now() + 7 * 86_400_000),
    }),
  )

  await expect.poll(() => mailbox.to(to)).toHaveLength(1)
  const [mail] = mailbox.to(to)
  expect(mail).toMatchObject({
    messageId: `<${id}@example.com>`,
    subject: 'You are invited by Zoë & Co',
    text: expect.stringContaining(`Zoë & Co invites you. The link works for 7 days:\n\n${link}`),
  })
  expect(mail?.html).toContain('<html lang="en">')
  expect(mail?.html).toContain('<title>You are invited by Zoë &amp; Co</title>')
  expect(mail?.html).toContain('Zoë &amp; Co invites you. The link works for 7 days:')
  await expect.poll(() => outbox.has(id)).toBe(false)
})
