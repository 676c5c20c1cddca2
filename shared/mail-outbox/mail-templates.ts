import { z } from 'zod'

/** What a template inserts, as text. A variable that is undefined is absent. */
export type MailVariables = Record<string, string | undefined>

/** For each template the schema of its variables. Producers pass a schema's input; its output is inserted. */
export type MailTemplates = Readonly<Record<string, z.ZodType<MailVariables>>>

/** A positive integer, inserted in decimal digits. */
export const wholeNumber = z.int().positive().transform(String)

/**
 * The mails that Latchkey sends. Each entry belongs to the files `templates/emails/<language>/<template>.*`, which may
 * insert these variables and no others.
 */
export const MAIL_TEMPLATES = {
  'password-reset': z.strictObject({
    code: z.string().regex(/^[0-9]{6}$/),
    /** How long the code works, rounded down; at least 1. */
    minutes: wholeNumber,
    /** The same in seconds, where minutes are too coarse. */
    seconds: wholeNumber.optional(),
    /** Of the user. */
    name: z.string().optional(),
  }),
} satisfies MailTemplates
