import { cp, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAIL_TEMPLATES, wholeNumber } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { MailEnvelope } from '../src/envelope/mail-envelope.ts'
import { createTemplateRenderer } from '../src/envelope/render-template.ts'
import { startMailer } from './support/start-mailer.ts'

const SHIPPED_TEMPLATES = join(import.meta.dirname, '..', '..', '..', 'templates', 'emails')
const FIXTURE = join(import.meta.dirname, 'fixtures', 'second-mail')

/** The shipped templates, and those of the fixture beside them, copied to `dir`. */
async function createEnvelope(dir: string): Promise<MailEnvelope> {
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
  await using dir = await mkdtempDisposable(join(tmpdir(), 'templates-'))
  await using mailer = await startMailer({ templates, envelope: await createEnvelope(dir.path) })
  const link = 'https://example.com/?id=1&again=2'
  const { id, mail } = await mailer.deliver({
    template: 'invitation',
    language: 'fr',
    variables: { inviter: 'Zoë & Co', link, days: 7 },
  })

  expect(mail).toMatchObject({
    messageId: `<${id}@example.com>`,
    subject: 'You are invited by Zoë & Co',
    text: expect.stringContaining(`Zoë & Co invites you. The link works for 7 days:\n\n${link}`),
  })
  expect(mail.html).toContain('<html lang="en">')
  expect(mail.html).toContain('<title>You are invited by Zoë &amp; Co</title>')
  expect(mail.html).toContain('Zoë &amp; Co invites you. The link works for 7 days:')
})

it('a mail without its template says which files to create', async () => {
  await using mailer = await startMailer({
    templates: { ...MAIL_TEMPLATES, welcome: z.strictObject({}) },
  })
  const mail = { template: 'welcome' as const, language: 'en', variables: {} }
  await expect(mailer.deliver(mail)).rejects.toThrow(
    /welcome does not exist; create welcome\.subject, \.html/,
  )
})
