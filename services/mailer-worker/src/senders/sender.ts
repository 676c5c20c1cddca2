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
  /** Resolves once the mail is accepted; throws `PermanentFailure`, or any other error to be retried. */
  send(mail: Mail): Promise<void>
  /** Rejects while mail cannot be sent; for the readiness check. */
  verify(): Promise<void>
  close(): Promise<void>
}

export interface SenderOptions {
  /** Mails sent at a time. */
  concurrency: number
  dkim?: { domainName: string; keySelector: string; privateKey: string }
}

/** Creates a sender from MAIL_URL. */
export type SenderFactory = (url: string, options: SenderOptions) => Sender

/** Senders by the scheme of MAIL_URL, without its colon. */
export type SenderRegistry = Readonly<Record<string, SenderFactory>>
