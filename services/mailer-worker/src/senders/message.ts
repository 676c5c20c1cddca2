import type { SendMailOptions } from 'nodemailer'
import type { Mail } from './sender.ts'

/** Converts a mail to Nodemailer's message. */
export function toMessage({ to, ...mail }: Mail): SendMailOptions {
  // RFC 3834: prevents automatic replies.
  const headers = { 'Auto-Submitted': 'auto-generated' }
  // An address as an object is never parsed, so it cannot become a list.
  return { ...mail, to: { name: '', address: to }, headers }
}
