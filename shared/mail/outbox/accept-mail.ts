import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { Transaction } from '../../database/database.ts'
import type { Clock } from '../../time/clock.ts'
import type { MailJob } from '../queue/mail-job.ts'
import type { MailDispatcher } from './dispatch-mail.ts'
import type { MAIL_TEMPLATES, MailTemplates, MailVariables } from './mail-templates.ts'
import { createOutboxRepository } from './outbox-repository.ts'
import type { Sealer } from './seal-variables.ts'

type TemplateName<Templates extends MailTemplates> = keyof Templates & string

/** A mail as a feature asks for it. */
export interface Mail<Templates extends MailTemplates, Name extends TemplateName<Templates>> {
  template: Name
  /** One address, without a display name. */
  to: string
  /** A language tag. A language without this template falls back to its main language, then to English. */
  language: string
  variables: z.input<Templates[Name]>
  /** The mail is worthless from then on, and is not sent. */
  expiresAt: Date
}

export interface Mails<Templates extends MailTemplates = typeof MAIL_TEMPLATES> {
  /**
   * Accepts a mail inside the caller's transaction and dispatches it after the commit; returns its id. Throws before
   * anything is written when the variables do not fit the template.
   */
  accept<Name extends TemplateName<Templates>>(
    transaction: Transaction,
    mail: Mail<Templates, Name>,
  ): Promise<string>
  /**
   * Does the work of `accept` and writes the same row, but sends nothing; returns the row's id. For requests whose
   * duration must not reveal whether there is a recipient.
   */
  acceptDecoy<Name extends TemplateName<Templates>>(
    transaction: Transaction,
    mail: Pick<Mail<Templates, Name>, 'template' | 'variables'>,
  ): Promise<string>
}

export interface MailsDependencies<Templates extends MailTemplates> {
  templates: Templates
  sealer: Pick<Sealer, 'seal'>
  dispatcher: Pick<MailDispatcher, 'dispatch' | 'discard'>
  localNow: Clock
}

/** A decoy has no recipient (RFC 2606) and has expired before it is written, so no worker ever sends one. */
const DECOY = { to: 'decoy@latchkey.invalid', language: 'en', expiresAt: new Date(0) }

/** Accepts mail into the outbox, from where mailer-worker sends it. */
export function createMails<Templates extends MailTemplates>({
  templates,
  sealer,
  dispatcher,
  localNow,
}: MailsDependencies<Templates>): Mails<Templates> {
  async function insert<Name extends TemplateName<Templates>>(
    transaction: Transaction,
    { template, to, language, variables, expiresAt }: Mail<Templates, Name>,
  ): Promise<{ id: string; job: MailJob }> {
    const id = randomUUID()
    const bound = { to, subject: '', template, language, expiresAt: expiresAt.toISOString() }
    const sealed = await sealer.seal(id, bound, parseVariables(templates, template, variables))
    const job = { ...bound, variables: sealed }
    await createOutboxRepository(transaction).insert(id, job, new Date(localNow()))
    return { id, job }
  }

  return {
    async accept(transaction, mail) {
      const { id, job } = await insert(transaction, mail)
      transaction.afterCommit(() => dispatcher.dispatch(id, job))
      return id
    },
    async acceptDecoy(transaction, { template, variables }) {
      const { id } = await insert(transaction, { ...DECOY, template, variables })
      transaction.afterCommit(() => dispatcher.discard(id))
      return id
    },
  }
}

function parseVariables(templates: MailTemplates, template: string, variables: unknown): MailVariables {
  const schema = Object.hasOwn(templates, template) ? templates[template] : undefined
  if (!schema) throw new TypeError(`The mail template ${template} is not declared; add it to MAIL_TEMPLATES`)
  const parsed = schema.safeParse(variables)
  if (parsed.success) return parsed.data
  // Names what is wrong, never a value: a variable may be a secret.
  const faults = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '))
  throw new TypeError(`The variables of the mail template ${template} are invalid: ${faults.join('; ')}`)
}
