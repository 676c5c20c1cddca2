import { boundedText } from './storable-text.ts'
import { MAX_LENGTH } from './user.ts'

/**
 * One address of the form local@domain. Letters of any script may occur (RFC 6531); what separates or quotes
 * addresses in a mail header may not, so that one field can never become two recipients.
 */
const EMAIL = /^[^\s@"(),:;<>[\\\]]+@[^\s@"(),:;<>[\\\]]+$/u

/** An e-mail address that `users.email` can store. */
export const emailAddress = () =>
  boundedText(MAX_LENGTH.email)
    .refine((text) => EMAIL.test(text), 'must be one e-mail address')
    .meta({ format: 'email' })
