import { z } from 'zod'

/** The texts that a template inserts. A variable that is undefined is absent. */
export type MailVariables = Record<string, string | undefined>

/** The schema of the variables of each template. Producers pass a schema's input; its output is inserted. */
export type MailTemplates = Readonly<Record<string, z.ZodType<MailVariables>>>

/** A positive integer, inserted in decimal digits. */
export const wholeNumber = z.int().positive().transform(String)

/** The user's name, and as `account` their masked e-mail. A mail can do without them. */
const ACCOUNT = { name: z.string().optional(), account: z.string().optional() }

/** The moment of an event, in the user's language, and the masked address that caused it. */
const EVENT = { ...ACCOUNT, at: z.string(), address: z.string().optional() }

const CODE = {
  code: z.string().regex(/^[0-9]{6}$/),
  /** The lifetime of the code, rounded down; at least 1. */
  minutes: wholeNumber,
  /** The same in seconds, where minutes are too coarse. */
  seconds: wholeNumber.optional(),
  /** The page with the code filled in. */
  link: z.url().optional(),
  ...ACCOUNT,
}

/**
 * The mails that Latchkey sends. Each entry belongs to the files `templates/emails/<language>/<template>.*`, which may
 * insert these variables and no others.
 */
export const MAIL_TEMPLATES = {
  'password-reset': z.strictObject(CODE),
  'login-code': z.strictObject(CODE),
  /** A mail to the new address. */
  'email-change': z.strictObject(CODE),
  /** A mail to the owner of an address to which another user wants to change. */
  'email-in-use': z.strictObject(ACCOUNT),
  /** A mail to the address of a new account. */
  'sign-up': z.strictObject(CODE),
  /** A mail to the owner of an address that is used for another sign-up. */
  'sign-up-taken': z.strictObject(ACCOUNT),
  /** The same for an account that is deleted. */
  'sign-up-deleted': z.strictObject(ACCOUNT),
  /** A mail to the old address. */
  'email-changed': z.strictObject(EVENT),
  /**
   * A mail to the address of a person who logs in with an identity provider. It has no link: a stranger may have begun the login,
   * and one click would complete it.
   */
  'identity-code': z.strictObject({ ...CODE, provider: z.string() }).omit({ link: true }),
  /** `alone` is present where every other way in has ended. */
  'identity-added': z.strictObject({ ...EVENT, provider: z.string(), alone: z.string().optional() }),
  'identity-removed': z.strictObject({ ...EVENT, provider: z.string() }),
  'password-changed': z.strictObject(EVENT),
  /** `erasure` is present where the data is erased then. */
  'account-deleted': z.strictObject({ ...EVENT, erasure: z.string().optional() }),
  'username-changed': z.strictObject(EVENT),
  'roles-changed': z.strictObject({ ...EVENT, role: z.string() }),
  'new-client': z.strictObject(EVENT),
  'failed-logins': z.strictObject({ ...EVENT, count: wholeNumber }),
  /** Second factors that were refused after the right password. */
  'failed-factors': z.strictObject({ ...EVENT, count: wholeNumber }),
  /**
   * `passkey` is present for a passkey, `custom` for a kind that Latchkey does not have by itself, and neither for an authenticator
   * app; `others` is present where the user had a factor.
   */
  'factor-added': z.strictObject({
    ...EVENT,
    passkey: z.string().optional(),
    custom: z.string().optional(),
    others: z.string().optional(),
  }),
  /** `last` is present where the user has no factor any more. */
  'factor-removed': z.strictObject({ ...EVENT, last: z.string().optional() }),
  /** `left`: how many codes are left. */
  'recovery-code-used': z.strictObject({ ...EVENT, left: z.string() }),
  'recovery-codes-renewed': z.strictObject(EVENT),
} satisfies MailTemplates
