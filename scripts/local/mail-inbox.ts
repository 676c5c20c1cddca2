// The inbox of `npm start`: MailDev accepts every mail and shows it on a page. It has its own process, which gets no
// secret and ends with the launcher.
import { createRequire } from 'node:module'

interface MailDevOptions {
  ip: string
  smtp: number
  web: number
  silent: boolean
}

// MailDev has no types.
const createMailDev: (options: MailDevOptions) => { listen(): Promise<void> } = createRequire(
  import.meta.url,
)('maildev')

const { MAILDEV_IP = '', MAILDEV_SMTP_PORT, MAILDEV_WEB_PORT } = process.env
process.once('disconnect', () => process.exit(0))
await createMailDev({
  ip: MAILDEV_IP,
  smtp: Number(MAILDEV_SMTP_PORT),
  web: Number(MAILDEV_WEB_PORT),
  silent: true,
}).listen()
process.send?.({ ready: true })
