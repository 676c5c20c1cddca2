import './refuse-foreign.cjs'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer, type Server } from 'node:net'

// The mail inbox of `npm start`: MailDev, third-party code in a process without a secret. The argument is the folder of its mails.
const HOST = '127.0.0.1'
/** MailDev's defaults. If one is taken, the inbox gets a free port. */
const SMTP_PORT = 1025
const WEB_PORT = 1080

const bind = async (port: number): Promise<Server> => {
  const server = createServer().listen(port, HOST)
  await once(server, 'listening')
  return server
}
const bindNear = (preferred: number): Promise<Server> => bind(preferred).catch(() => bind(0))
const addressOf = (server: Server): string => `${HOST}:${(server.address() as AddressInfo).port}`

// MailDev gets bound sockets as its ports: between a question for a free port and its bind, another start could take the port.
const [smtp, web] = await Promise.all([bindNear(SMTP_PORT), bindNear(WEB_PORT)])
const maildev = createRequire(import.meta.url)('maildev')
await maildev({ ip: HOST, smtp, web, mailDirectory: process.argv[2], silent: true }).listen()
process.send?.({ ready: true, address: `http://${addressOf(web)}`, mailUrl: `smtp://${addressOf(smtp)}` })
