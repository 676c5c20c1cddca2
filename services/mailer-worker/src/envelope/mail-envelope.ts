/** One mail, ready to be sent. */
export interface Envelope {
  from: string
  to: string
  subject: string
  html: string
  text: string
}

/** What of the settings an envelope is made from. */
export interface EnvelopeContext {
  /** MAIL_FROM. */
  from: string
  /** APP_ENV. */
  environment: string
}

/**
 * Makes the mail; `config/external.ts` exports one as `MAIL_ENVELOPE`. Throws `PermanentFailure` when no further
 * attempt could make it; anything else is tried again.
 */
export type MailEnvelope = (
  to: string,
  subject: string,
  template: string,
  variables: Readonly<Record<string, string>>,
  language: string,
  context: EnvelopeContext,
) => Envelope | Promise<Envelope>
