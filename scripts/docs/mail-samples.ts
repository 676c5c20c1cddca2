import { hash } from 'node:crypto'
import { join } from 'node:path'
import { accountOf, formatMoment, maskNetwork } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import {
  createTemplateRenderer,
  type Rendered,
} from '../../services/mailer-worker/src/envelope/render-template.ts'
import { ROOT } from './generated-pages.ts'

export interface SampleMail extends Rendered {
  template: string
}

const MOMENT = Date.UTC(2026, 2, 9, 14, 5)
const BRAND = { product: 'Latchkey', support: 'support@example.com', colour: '#3b5bdb' }

/** Every mail of Latchkey in a language, with variables as a user may see them. */
export function renderSamples(language: string): Promise<SampleMail[]> {
  const render = createTemplateRenderer(join(ROOT, 'templates/emails'))
  const variables = {
    ...accountOf({ name: 'Ada', email: 'ada@example.com' }),
    code: '042711',
    minutes: '10',
    at: formatMoment(language, MOMENT),
    address: maskNetwork('192.0.2.7'),
    role: 'editor',
    count: '20',
  }
  return Promise.all(
    Object.entries(MAIL_TEMPLATES).map(async ([template, { shape }]) => {
      const declared = Object.entries(variables).filter(([name]) => name in shape)
      return { template, ...(await render(template, language, Object.fromEntries(declared), BRAND)) }
    }),
  )
}

/** Changes whenever a mail looks different. */
export async function fingerprintMails(): Promise<string> {
  const mails = await Promise.all(LANGUAGES.map(renderSamples))
  return hash('sha256', JSON.stringify(mails.flat().map(({ subject, html }) => [subject, html])))
}
