import { hasInvisible } from './account-names.ts'
import { boundedText } from './storable-text.ts'
import { fold, MAX_LENGTH } from './user.ts'

/**
 * One address of the form local@domain. Letters of any script may occur (RFC 6531); what separates or quotes
 * addresses in a mail header may not, so that one field can never become two recipients.
 */
const EMAIL = /^[^\s@"(),:;<>[\\\]]+@[^\s@"(),:;<>[\\\]]+$/u

/** An e-mail address that `users.email` can store. */
export const emailAddress = () =>
  boundedText(MAX_LENGTH.email)
    .refine((text) => EMAIL.test(text) && !hasInvisible(text), 'must be one e-mail address')
    .meta({ format: 'email' })

/** True for an address of one of the domains, and for every address where there are none. */
export const isOfDomain = (email: string, domains: readonly string[]): boolean =>
  domains.length === 0 ||
  domains.some((domain) => fold(email.slice(email.lastIndexOf('@') + 1)) === fold(domain))

/** Masks an address so that it can be recognised but not written to: `a***@example.com`. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  if (at < 1) return '***'
  const [first = ''] = address
  return `${first}***${address.slice(at)}`
}

/** Masks every address in a text, such as a mail server's response. */
export const maskAddresses = (text: string): string =>
  text.replace(/[^\s<>"(),;:]+@[^\s<>"(),;:]+/g, maskAddress)
