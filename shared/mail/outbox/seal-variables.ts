import { z } from 'zod'
import { createTextSealer } from '../../secrets/sealed-text.ts'
import type { MailJob } from '../queue/mail-job.ts'
import type { MailVariables } from './mail-templates.ts'

/** The mail that a sealed text is bound to, and the id of its outbox row and job. */
const Bound = z.object({
  id: z.string(),
  to: z.string(),
  subject: z.string(),
  template: z.string(),
  language: z.string(),
  expiresAt: z.string(),
})
const Sealed = z.object({ mail: Bound, variables: z.record(z.string(), z.string()) })

export type BoundMail = Omit<MailJob, 'variables'>

export interface Sealer {
  /** Resolves with a JWE (`dir`, `A256GCM`) in compact form, which opens for that mail only. */
  seal(id: string, mail: BoundMail, variables: Readonly<MailVariables>): Promise<string>
  /**
   * The variables of a job. Throws `SealedForAnotherMail` when they were sealed for another id, recipient, subject,
   * template, language or expiry, and jose's or zod's error when the text was sealed with another key or was changed.
   */
  open(id: string, job: MailJob): Promise<Record<string, string>>
}

export class SealedForAnotherMail extends Error {
  constructor(field: string) {
    super(`The variables were sealed for another mail: ${field} differs`)
  }
}

/**
 * Seals the variables of a mail, such as its code. A reader of the queue or the database does not see them, and somebody who
 * can write there cannot have them mailed to another address. `secret` is MAIL_SECRET, of which the first 32 bytes are used;
 * what `previous` has sealed opens as well.
 */
export function createSealer(secret: Uint8Array, previous?: Uint8Array): Sealer {
  const sealer = createTextSealer('MAIL_SECRET', secret, previous)
  return {
    seal: (id, mail, variables) =>
      sealer.seal(JSON.stringify({ mail: Bound.parse({ ...mail, id }), variables })),
    async open(id, job) {
      const { mail, variables } = Sealed.parse(JSON.parse(await sealer.open(job.variables)))
      const asked = Bound.parse({ ...job, id })
      const different = Bound.keyof().options.find((field) => mail[field] !== asked[field])
      if (different) throw new SealedForAnotherMail(different)
      return variables
    },
  }
}
