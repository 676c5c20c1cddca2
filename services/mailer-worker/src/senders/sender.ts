import type { SendMailOptions } from 'nodemailer'

/** One mail to one address. */
export interface Mail {
  /** The Message-ID with its angle brackets; the same at every attempt. */
  messageId: string
  from: string
  to: string
  subject: string
  html: string
  text: string
}

export interface Sender {
  /** Resolves once the mail is accepted; throws `PermanentFailure`, or `SenderFailure` or any other error to be retried. */
  send(mail: Mail): Promise<void>
  /** Rejects while mail cannot be sent; for the readiness check. */
  verify(): Promise<void>
  close(): Promise<void>
}

export interface SenderOptions {
  /** Mails sent at a time. */
  concurrency: number
  dkim?: { domainName: string; keySelector: string; privateKey: string }
  /** The domain of MAIL_FROM, as which the sender greets a mail server. */
  name?: string
}

/** Creates a sender from MAIL_URL. */
export type SenderFactory = (url: string, options: SenderOptions) => Sender

/** Senders by the scheme of MAIL_URL, without its colon. */
export type SenderRegistry = Readonly<Record<string, SenderFactory>>

/** A failure that no further attempt can repair. The message is kept with the failed job, so it must not contain a variable. */
export class PermanentFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PermanentFailure'
  }
}

/** A failure that says nothing about this mail: every mail would fail. The mail is retried, and the worker is degraded. */
export class SenderFailure extends Error {}

/** Converts a mail to Nodemailer's message. */
export function toMessage({ to, ...mail }: Mail): SendMailOptions {
  // RFC 3834: prevents automatic replies.
  const headers = { 'Auto-Submitted': 'auto-generated' }
  // An address as an object is never parsed, so it cannot become a list.
  return { ...mail, to: { name: '', address: to }, headers }
}
