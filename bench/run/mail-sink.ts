import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface MailSink extends AsyncDisposable {
  /** For MAIL_URL. */
  url: string
  /** Milliseconds at which each mail was accepted. */
  acceptedAt: number[]
}

const END_OF_MAIL = '\r\n.\r\n'
/** Every mail server of today takes the commands of a mail together (RFC 2920). */
const REPLIES = new Map([
  ['EHLO', '250-sink\r\n250 PIPELINING\r\n'],
  ['DATA', '354 go ahead\r\n'],
  ['QUIT', '221 bye\r\n'],
])

/** The fastest SMTP server that a worker can meet: it accepts every mail and forgets it. */
export async function openMailSink(): Promise<MailSink> {
  const acceptedAt: number[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.setEncoding('latin1').write('220 sink ESMTP\r\n')
    const receive = createConversation(socket, () => void acceptedAt.push(performance.now()))
    socket.on('data', (text: unknown) => receive(String(text)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?ignoreTLS=true`,
    acceptedAt,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function createConversation(socket: Socket, onMail: () => void): (text: string) => void {
  let rest = ''
  let isInMail = false

  function readMail(): boolean {
    const end = rest.indexOf(END_OF_MAIL)
    if (end < 0) return false
    rest = rest.slice(end + END_OF_MAIL.length)
    isInMail = false
    onMail()
    socket.write('250 accepted\r\n')
    return true
  }

  function readCommand(): boolean {
    const end = rest.indexOf('\r\n')
    if (end < 0) return false
    const verb = rest.slice(0, 4).toUpperCase()
    rest = rest.slice(end + 2)
    isInMail = verb === 'DATA'
    socket.write(REPLIES.get(verb) ?? '250 OK\r\n')
    return true
  }

  return (text) => {
    rest += text
    // The replies to commands that came together leave together.
    socket.cork()
    while (isInMail ? readMail() : readCommand());
    socket.uncork()
  }
}
