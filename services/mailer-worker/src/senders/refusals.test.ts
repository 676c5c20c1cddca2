import { once } from 'node:events'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { expect, it } from 'vitest'
import { PermanentFailure, SenderFailure } from './sender.ts'
import { createSmtpSender } from './smtp.ts'

const mail = {
  messageId: '<job-1@example.com>',
  from: 'Latchkey <no-reply@example.com>',
  to: 'ada@example.com',
  subject: 'Your code',
  html: '<p>012345</p>',
  text: '012345',
}

type Phase = 'connect' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL FROM' | 'RCPT TO' | 'DATA'

/** The fault behind a refusal: of the operator or the server, of this mail for now, or of this mail for good. */
type Fault = 'server' | 'mail, for now' | 'mail'

/** A server that answers one phase with `response`, and every other one as it should. */
async function withRefusal(phase: Phase, response: string, work: (port: number) => Promise<void>) {
  const [, code = '', text = ''] = /^(\d{3}) (.*)$/.exec(response) ?? []
  const refusal = Object.assign(new Error(text), { responseCode: Number(code) })
  const refuse =
    (at: Phase) =>
    (...given: unknown[]) =>
      (given.at(-1) as (error?: Error) => void)(phase === at ? refusal : undefined)
  const options: SMTPServerOptions = {
    authOptional: phase !== 'AUTH',
    disabledCommands: phase === 'AUTH' ? [] : ['AUTH', ...(phase === 'STARTTLS' ? [] : ['STARTTLS'])],
    onConnect: refuse('connect'),
    onAuth: (_auth, _session, callback) =>
      phase === 'AUTH' ? callback(refusal) : callback(null, { user: 'x' }),
    onMailFrom: refuse('MAIL FROM'),
    onRcptTo: refuse('RCPT TO'),
    onData(stream, _session, callback) {
      stream.resume().on('end', () => refuse('DATA')(callback))
    },
  }
  const server = new SMTPServer(options)
  // smtp-server has no handler for these two commands: its connection answers them by a method of that name.
  if (phase === 'EHLO' || phase === 'STARTTLS')
    server.on('connect', () => {
      for (const connection of server.connections) {
        const refuseCommand = (_command: unknown, done: () => void) => {
          connection.send(Number(code), text)
          done()
        }
        Object.assign(connection, { [`handler_${phase}`]: refuseCommand, handler_HELO: refuseCommand })
      }
    })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const address = server.server.address()
  try {
    await work(typeof address === 'object' ? (address?.port ?? 0) : 0)
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
}

const REFUSALS: readonly (readonly [Phase, string, Fault])[] = [
  // A refusal before the recipient was named says nothing about the recipient.
  ['connect', '554 5.7.1 Your address is on a list', 'server'],
  ['connect', '521 No mail here', 'server'],
  ['connect', '421 4.7.0 Too many connections', 'server'],
  ['EHLO', '550 5.7.1 Helo refused', 'server'],
  ['EHLO', '504 5.5.2 Need a fully qualified name', 'server'],
  ['STARTTLS', '454 4.7.0 TLS not available', 'server'],
  ['STARTTLS', '550 5.7.0 No TLS for you', 'server'],
  ['AUTH', '535 5.7.8 Wrong password', 'server'],
  ['AUTH', '534 5.7.9 Application-specific password required', 'server'],
  ['AUTH', '454 4.7.0 Temporary failure', 'server'],
  ['MAIL FROM', '530 5.7.0 Authentication required', 'server'],
  ['MAIL FROM', '550 5.7.1 Sender address not owned by user', 'server'],
  ['MAIL FROM', '553 5.1.8 Sender domain does not exist', 'server'],
  ['MAIL FROM', '552 5.2.2 Quota of the sender exceeded', 'server'],
  ['MAIL FROM', '550 Refused', 'server'],
  ['MAIL FROM', '451 4.3.0 Later', 'server'],
  // A recipient is refused for itself, or for who sends to it.
  ['RCPT TO', '550 5.1.1 No such user', 'mail'],
  ['RCPT TO', '553 5.1.2 No such domain', 'mail'],
  ['RCPT TO', '550 5.1.10 Null MX', 'mail'],
  ['RCPT TO', '552 5.2.2 Mailbox full', 'mail'],
  ['RCPT TO', '550 5.2.1 Mailbox disabled', 'mail'],
  ['RCPT TO', '550 No such user', 'mail'],
  ['RCPT TO', '501 Malformed address', 'mail'],
  ['RCPT TO', '553 Sorry, no mailbox here by that name (#5.1.1)', 'mail'],
  ['RCPT TO', '550 5.1.7 Bad sender address', 'server'],
  ['RCPT TO', '550 5.1.8 Bad sender domain', 'server'],
  ['RCPT TO', '554 5.7.1 Relay access denied', 'server'],
  ['RCPT TO', '550 5.7.1 Client does not have permission to send as this sender', 'server'],
  ['RCPT TO', '553 Sorry, that domain is not in my list of allowed rcpthosts (#5.7.1)', 'server'],
  ['RCPT TO', '550 relay not permitted', 'server'],
  ['RCPT TO', '550 Relaying to 5.1.1.9 denied', 'server'],
  ['RCPT TO', '550 Please log in, authentication is required', 'server'],
  ['RCPT TO', '554 5.7.1 Client host blocked using zen.spamhaus.example', 'server'],
  ['RCPT TO', '530 5.7.0 Authentication required', 'server'],
  ['RCPT TO', '535 Authentication required', 'server'],
  ['RCPT TO', '503 5.5.1 Bad sequence of commands', 'server'],
  ['RCPT TO', '554 5.3.2 System not accepting mail', 'server'],
  ['RCPT TO', '450 4.2.0 Greylisted', 'mail, for now'],
  ['RCPT TO', '451 4.7.1 Greylisting in action', 'mail, for now'],
  ['RCPT TO', '452 4.2.2 Mailbox full', 'mail, for now'],
  ['RCPT TO', '450 Later', 'mail, for now'],
  ['RCPT TO', '451 Later', 'mail, for now'],
  ['RCPT TO', '454 4.7.1 Relay access denied', 'server'],
  ['RCPT TO', '421 4.3.2 Shutting down', 'server'],
  // A content is refused for itself, or for who sends it.
  ['DATA', '550 5.1.1 No such user', 'mail'],
  ['DATA', '552 5.2.3 Too big for this mailbox', 'mail'],
  ['DATA', '552 5.3.4 Message too big', 'mail'],
  ['DATA', '550 5.6.0 Malformed content', 'mail'],
  ['DATA', '554 5.7.1 This looks like spam', 'mail'],
  ['DATA', '550 5.7.1 A virus was found', 'mail'],
  ['DATA', '554 Transaction failed', 'mail'],
  ['DATA', '552 Too much mail data', 'mail'],
  ['DATA', '550 5.7.60 Client does not have permissions to send as this sender', 'server'],
  ['DATA', '550 5.7.26 This mail is unauthenticated', 'server'],
  ['DATA', '550 5.7.1 Relaying denied', 'server'],
  ['DATA', '554 Message rejected: Email address is not verified', 'server'],
  ['DATA', '550 The from address does not match a verified Sender Identity', 'server'],
  ['DATA', '554 5.7.1 Client host blocked using zen.spamhaus.example', 'server'],
  ['DATA', '530 Authentication required', 'server'],
  ['DATA', '451 4.3.0 Later', 'server'],
  ['DATA', '450 4.2.0 Later', 'mail, for now'],
]

it.concurrent.each(REFUSALS)('%s: %s is a fault of the %s', async (phase, response, fault) => {
  await withRefusal(phase, response, async (port) => {
    const login = phase === 'AUTH' ? 'user:password@' : ''
    const url = `smtp://${login}127.0.0.1:${port}?tls.rejectUnauthorized=false`
    const sender = createSmtpSender(url, { concurrency: 1, name: 'example.com' })
    const error = await sender.send(mail).catch((reason: unknown) => reason)
    await sender.close()
    expect(error).toBeInstanceOf(Error)
    const kind = error instanceof PermanentFailure ? 'mail' : error instanceof SenderFailure ? 'server' : ''
    expect(kind || 'mail, for now', String(error)).toBe(fault)
    expect(String(error)).toContain(response.slice(0, 3))
  })
})
