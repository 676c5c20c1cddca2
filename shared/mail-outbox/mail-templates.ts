import { z } from 'zod'

/** What a template inserts, as text. A variable that is undefined is absent. */
export type MailVariables = Record<string, string | undefined>

/** For each template the schema of its variables. Producers pass a schema's input; its output is inserted. */
export type MailTemplates = Readonly<Record<string, z.ZodType<MailVariables>>>

/** A positive integer, inserted in decimal digits. */
export const wholeNumber = z.int().positive().transform(String)

/** Of the user. `account` is their masked e-mail. A mail of an earlier release has none. */
const ACCOUNT = { name: z.string().optional(), account: z.string().optional() }

/** When something happened, in the user's language, and the masked address that it came from. */
const EVENT = { ...ACCOUNT, at: z.string(), address: z.string().optional() }

const CODE = {
  code: z.string().regex(/^[0-9]{6}$/),
  /** How long the code works, rounded down; at least 1. */
  minutes: wholeNumber,
  /** The same in seconds, where minutes are too coarse. */
  seconds: wholeNumber.optional(),
  ...ACCOUNT,
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
  'email-in-use': z.strictObject(ACCOUNT),
  /** To the address of a new account. */
  'sign-up': z.strictObject(CODE),
  /** To the owner of an address with which somebody signs up. */
  'sign-up-taken': z.strictObject(ACCOUNT),
  /** To the old address. */
  'email-changed': z.strictObject({ ...EVENT, at: z.string().optional() }),
  'password-changed': z.strictObject(EVENT),
  'roles-changed': z.strictObject({ ...EVENT, role: z.string() }),
  'failed-logins': z.strictObject({ ...EVENT, count: wholeNumber }),
} satisfies MailTemplates
