import { z } from 'zod'

/** The BullMQ queue that auth-api adds to and mailer-worker consumes. */
export const MAIL_QUEUE = 'mail'

/** The name of a template: without any character that has a meaning in a path. */
const Name = z.string().regex(/^[a-z][a-z0-9-]{0,49}$/, 'must be lower-case letters, digits and dashes')

/** One address: not a list, no display name, and nothing that could begin another header. */
const Address = z
  .string()
  .max(254)
  .regex(
    /^[^\s\p{Cc}@,;:<>()[\]\\"]+@[^\s\p{Cc}@,;:<>()[\]\\"]+$/u,
    'must be one e-mail address without a display name',
  )

/** The contract between the producers of mail and mailer-worker. The job's id is the id of the outbox row. */
export const MailJob = z.object({
  to: Address,
  /** Overrides the template's own subject unless empty. */
  subject: z
    .string()
    .max(200)
    .regex(/^\P{Cc}*$/u, 'must be one line'),
  template: Name,
  /** A language without the template falls back to its main language, then to English. */
  language: z.string().regex(/^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$/, 'must be a language tag'),
  /** The template's variables, sealed by `createSealer`: a JWE in compact form. */
  variables: z.string().regex(/^[\w-]*\.[\w-]*\.[\w-]*\.[\w-]*\.[\w-]*$/, 'must be a JWE in compact form'),
  /** ISO 8601, UTC. The mail is worthless from then on, and is not sent. */
  expiresAt: z.iso.datetime(),
})

export type MailJob = z.output<typeof MailJob>
