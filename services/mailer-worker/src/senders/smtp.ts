import { createTransport } from 'nodemailer'
import { PermanentFailure, type SenderFactory, toMessage } from './sender.ts'

/** A server that hangs counts as unavailable. The last step may take long: servers scan a mail before they accept it. */
const TIMEOUTS = {
  connectionTimeout: 5_000,
  dnsTimeout: 5_000,
  greetingTimeout: 10_000,
  socketTimeout: 60_000,
}

/** Nodemailer's codes for an answer about this mail; a 5xx to a greeting or a login is about the server. */
const ABOUT_THE_MAIL = new Set(['EENVELOPE', 'EMESSAGE'])

/**
 * Sends over pooled SMTP connections. `smtp:` uses STARTTLS if the server offers it, and requires it if the URL contains
 * credentials; `smtps:` begins with TLS. The URL's query sets Nodemailer's options, for example `?requireTLS=true`.
 */
export const createSmtpSender: SenderFactory = (url, { concurrency, dkim }) => {
  const { protocol, username } = new URL(url)
  const transport = createTransport({
    ...TIMEOUTS,
    url,
    pool: true,
    maxConnections: concurrency,
    // BullMQ retries; a second retry here would send twice.
    maxRequeues: 0,
    requireTLS: protocol === 'smtp:' && username !== '',
    ...(dkim ? { dkim } : {}),
  })
  transport.on('error', () => undefined) // The mail that is being sent reports it.
  return {
    async send(mail) {
      try {
        await transport.sendMail(toMessage(mail))
      } catch (error) {
        throw describe(error)
      }
    },
    verify: async () => void (await transport.verify()),
    close: async () => transport.close(),
  }
}

function describe(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('The mail server failed')
  const { code, responseCode, response, command } = error as Error & {
    code?: string
    responseCode?: number
    response?: string
    command?: string
  }
  const reason = `SMTP ${command ?? 'connection'}: ${(response ?? error.message).slice(0, 200)}`
  const isPermanent = (responseCode ?? 0) >= 500 && ABOUT_THE_MAIL.has(code ?? '')
  return isPermanent ? new PermanentFailure(reason) : new Error(reason)
}
