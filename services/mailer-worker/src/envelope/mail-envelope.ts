/** One mail, rendered. */
export interface Envelope {
  from: string
  to: string
  subject: string
  html: string
  text: string
}

/** The operator's own layout of the mails. */
export interface Brand {
  /** PRODUCT_NAME. */
  product: string
  /** SUPPORT_ADDRESS; an e-mail address. */
  support?: string | undefined
  /** MAIL_COLOUR, as #rrggbb. */
  colour: string
}

/** The settings that an envelope is built from. */
export interface EnvelopeContext {
  /** MAIL_FROM. */
  from: string
  /** APP_ENV. */
  environment: string
  brand: Brand
}

/**
 * Builds the mail; `config/external.ts` exports one as `MAIL_ENVELOPE`. Throws `PermanentFailure` when no further attempt
 * could build it; any other error is retried.
 */
export type MailEnvelope = (
  to: string,
  subject: string,
  template: string,
  variables: Readonly<Record<string, string>>,
  language: string,
  context: EnvelopeContext,
) => Envelope | Promise<Envelope>
