import type { SendMailOptions } from 'nodemailer'
import type { Mail } from './sender.ts'

/** Converts a mail to Nodemailer's message. */
export function toMessage({ messageId, from, to, subject, html, text }: Mail): SendMailOptions {
  return {
    messageId,
    from,
    // As an object: never parsed, so it cannot become a list.
    to: { name: '', address: to },
    subject,
    html,
    text,
    // RFC 3834: prevents automatic replies.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}
