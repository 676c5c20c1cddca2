import { createTransport } from 'nodemailer'
import { PermanentFailure, type SenderFactory, SenderFailure, toMessage } from './sender.ts'

/** A server that hangs counts as unavailable. The last step may take long: servers scan a mail before they accept it. */
const TIMEOUTS = {
  connectionTimeout: 5_000,
  dnsTimeout: 5_000,
  greetingTimeout: 10_000,
  socketTimeout: 60_000,
}

const HELP_WITH_TLS = '; set NODE_EXTRA_CA_CERTS, or see docs/how-to/connect-a-mail-server.md'

/** An enhanced status code (RFC 3463), wherever the answer has it; not a part of an IP address. */
const ENHANCED = /(?<![\d.])[45]\.(\d{1,3})\.(\d{1,3})(?!\.?\d)/
/** Codes of RFC 5321 that a server without enhanced ones gives to a recipient or a content. */
const MAIL_CODES = new Set([450, 451, 452, 501, 550, 551, 552, 553, 554, 556])
/** The words of a server that gives one of these for who sends, or for a login. */
const ABOUT_THE_SENDER = /relay|sender|from address|authenti|authori|log ?in|verified|credential|permission/i
/** X.7.1 is given for everything; the names of block lists have "spam" in them, too. */
const ABOUT_THE_CONTENT = /\b(spam|virus|malware|phishing|content|attachment)\b/i
const GREYLISTED = /gr[ae]y/i

/**
 * Sends over pooled SMTP connections. `smtp:` uses STARTTLS if the server offers it, and requires it if the URL contains
 * credentials; `smtps:` begins with TLS. The URL's query sets Nodemailer's options, for example `?requireTLS=true`.
 */
export const createSmtpSender: SenderFactory = (url, { concurrency, dkim, name }) => {
  const { protocol, username } = new URL(url)
  const transport = createTransport({
    ...TIMEOUTS,
    // In a container Nodemailer would greet as [127.0.0.1], which strict servers refuse.
    ...(name ? { name } : {}),
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
    send: async (mail) => void (await transport.sendMail(toMessage(mail)).catch(rethrow)),
    verify: async () => void (await transport.verify().catch(rethrow)),
    close: async () => transport.close(),
  }
}

function rethrow(error: unknown): never {
  if (!(error instanceof Error)) throw new SenderFailure('The mail server failed')
  const { responseCode = 0, response, command }: Error & SmtpAnswer = error
  const help = !response && /certificate/.test(error.message) ? HELP_WITH_TLS : ''
  const reason = `SMTP ${command ?? 'connection'}: ${(response ?? error.message).slice(0, 200)}${help}`
  if (!isAboutMail({ command, responseCode, response })) throw new SenderFailure(reason)
  throw responseCode >= 500 ? new PermanentFailure(reason) : new Error(reason)
}

/** The members that Nodemailer adds to an error. */
interface SmtpAnswer {
  command?: string | undefined
  responseCode?: number | undefined
  response?: string | undefined
}

/**
 * True where a server has refused this recipient or this content. All else is about the server, the sender or the login. An
 * answer that leaves it open counts as that: the mail is tried again, and not lost.
 */
function isAboutMail({ command, responseCode = 0, response = '' }: SmtpAnswer): boolean {
  if (command !== 'RCPT TO' && command !== 'DATA') return false
  const [, subject, detail = ''] = ENHANCED.exec(response) ?? []
  switch (subject) {
    case undefined:
      return MAIL_CODES.has(responseCode) && !ABOUT_THE_SENDER.test(response)
    case '1': // X.1.7 and X.1.8 are about the address of the sender.
      return !['7', '8'].includes(detail)
    case '2':
    case '6':
      return true
    case '3':
      return detail === '4'
    case '7':
      return responseCode < 500
        ? GREYLISTED.test(response)
        : command === 'DATA' && ABOUT_THE_CONTENT.test(response)
    default:
      return false
  }
}
