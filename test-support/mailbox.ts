import { once } from 'node:events'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { findFreePort } from './free-port.ts'

export interface Mailbox {
  port: number
  url: string
  /** The accepted mails, oldest first. */
  mails: Email[]
  /** The raw text of each. */
  raw: string[]
  /** The SMTP codes with which the server answers the next mails for an address; afterwards 250. */
  answers: Map<string, number[]>
  /** With what the server refuses every sender, for example `530 5.7.0 Authentication required`; undefined while it refuses none. */
  refusesSenders: string | undefined
  /** The time that the server takes to accept a mail, in milliseconds. */
  delayMs: number
  /** True where the server stops answering once it has received the recipient. */
  hangs: boolean
  /** The number of mails that the server has left unanswered because it hangs. */
  hangingMails: number
  goDown(): Promise<void>
  comeUp(): Promise<void>
  to(address: string): Email[]
  [Symbol.asyncDispose](): Promise<void>
}

/** The time for which it answers open connections once it goes down: longer than the longest `delayMs` of a test. */
const CLOSE_TIMEOUT_MS = 3_000

/** A real SMTP server in this process that keeps what it accepts. Containers reach it on the host 0.0.0.0. */
export async function openMailbox(host = '127.0.0.1'): Promise<Mailbox> {
  const port = await findFreePort()
  let server = await listen()

  async function listen(): Promise<SMTPServer> {
    const smtp = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      closeTimeout: CLOSE_TIMEOUT_MS,
      onMailFrom(_address, _session, callback) {
        const [, code, text] = /^(\d{3}) (.*)$/.exec(mailbox.refusesSenders ?? '') ?? []
        callback(code ? Object.assign(new Error(text), { responseCode: Number(code) }) : undefined)
      },
      onRcptTo: ({ address }, _session, callback) => {
        if (mailbox.hangs) {
          mailbox.hangingMails++
          return
        }
        const code = mailbox.answers.get(address)?.shift() ?? 250
        if (code === 250) return callback()
        callback(
          Object.assign(new Error(`${code} as the test wants for <${address}>`), { responseCode: code }),
        )
      },
      onData(stream, _session, callback) {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('end', async () => {
          const raw = Buffer.concat(chunks)
          await new Promise((resolve) => setTimeout(resolve, mailbox.delayMs))
          mailbox.mails.push(await PostalMime.parse(raw))
          mailbox.raw.push(raw.toString('utf8'))
          callback()
        })
      },
    })
    smtp.on('error', () => undefined)
    smtp.listen(port, host)
    await once(smtp.server, 'listening')
    return smtp
  }

  const mailbox: Mailbox = {
    port,
    url: `smtp://127.0.0.1:${port}`,
    mails: [],
    raw: [],
    answers: new Map(),
    refusesSenders: undefined,
    delayMs: 0,
    hangs: false,
    hangingMails: 0,
    goDown: () => new Promise((resolve) => server.close(() => resolve())),
    async comeUp() {
      if (!server.server.listening) server = await listen()
    },
    to: (address) => mailbox.mails.filter((mail) => mail.to?.some((each) => each.address === address)),
    [Symbol.asyncDispose]: () => mailbox.goDown(),
  }
  return mailbox
}
