import type { IdentityProviderFactory } from '@latchkey/auth-api/src/features/identity-providers/identity-provider.ts'
import { openidProvider } from '@latchkey/auth-api/src/features/identity-providers/openid-provider.ts'
import type { MailEnvelope } from '@latchkey/mailer-worker/src/envelope/mail-envelope.ts'
import { createTemplateRenderer } from '@latchkey/mailer-worker/src/envelope/render-template.ts'
import { BUILT_IN_SENDERS } from '@latchkey/mailer-worker/src/senders/built-in-senders.ts'
import type { SenderRegistry } from '@latchkey/mailer-worker/src/senders/sender.ts'

// Builds and sends the mail of mailer-worker, and builds the identity providers of auth-api. `config/<APP_ENV>/external.ts`
// replaces this file if it exists.

const render = createTemplateRenderer()

/** Builds each mail; docs/how-to/change-the-sender.md explains how to change it. */
export const MAIL_ENVELOPE: MailEnvelope = async (to, subject, template, variables, language, context) => {
  const rendered = await render(template, language, variables, context.brand)
  const prefix = context.environment === 'prod' ? '' : `[${context.environment}] `
  return { ...rendered, from: context.from, to, subject: `${prefix}${subject || rendered.subject}` }
}

/** The senders, by the scheme of MAIL_URL. */
export const SENDERS: SenderRegistry = BUILT_IN_SENDERS

/** Builds each provider of OIDC_PROVIDERS; docs/how-to/log-in-with-google.md explains how to add one that is no OpenID provider. */
export const IDENTITY_PROVIDERS: IdentityProviderFactory = openidProvider
