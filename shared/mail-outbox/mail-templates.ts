import { z } from 'zod'

/** What a template inserts, as text. A variable that is undefined is absent. */
export type MailVariables = Record<string, string | undefined>

/** For each template the schema of its variables. Producers pass a schema's input; its output is inserted. */
export type MailTemplates = Readonly<Record<string, z.ZodType<MailVariables>>>

/** A positive integer, inserted in decimal digits. */
export const wholeNumber = z.int().positive().transform(String)

/** Of the user. */
const NAME = { name: z.string().optional() }

const CODE = {
  code: z.string().regex(/^[0-9]{6}$/),
  /** How long the code works, rounded down; at least 1. */
  minutes: wholeNumber,
  /** The same in seconds, where minutes are too coarse. */
  seconds: wholeNumber.optional(),
  ...NAME,
}

/**
 * The mails that Latchkey sends. Each entry belongs to the files `templates/emails/<language>/<template>.*`, which may
 * insert these variables and no others.
 */
export const MAIL_TEMPLATES = {
  'password-reset': z.strictObject(CODE),
  /** To the new address. */
  'email-change': z.strictObject(CODE),
  /** To the owner of an address that somebody else wants to change to. */
  'email-in-use': z.strictObject(NAME),
  /** To the old address. */
  'email-changed': z.strictObject(NAME),
} satisfies MailTemplates
