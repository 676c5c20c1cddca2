/** What is sent: one mail to one address. */
export interface Mail {
  /** With its angle brackets; the same at every attempt. */
  messageId: string
  from: string
  to: string
  subject: string
  html: string
  text: string
}

export interface Sender {
  /** Resolves once the mail is handed over; throws `PermanentFailure`, or anything else to be tried again. */
  send(mail: Mail): Promise<void>
  /** Rejects while mail cannot be handed over; for the readiness check. */
  verify(): Promise<void>
  close(): Promise<void>
}

export interface SenderOptions {
  /** How many mails are sent at a time. */
  concurrency: number
  dkim?: { domainName: string; keySelector: string; privateKey: string }
}

/** Makes a sender from MAIL_URL. */
export type SenderFactory = (url: string, options: SenderOptions) => Sender

/** Senders by the scheme of MAIL_URL, without its colon. */
export type SenderRegistry = Readonly<Record<string, SenderFactory>>
