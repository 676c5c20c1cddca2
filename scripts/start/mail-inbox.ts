// The inbox of `npm start`: MailDev takes every mail and shows it on a page. A process of its own, so that it ends
// when the launcher does.
import { createRequire } from 'node:module'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { isPortTaken } from './ports.ts'

interface MailDevOptions {
  ip: string
  smtp: number
  web: number
  silent: boolean
}

// MailDev has no types of its own.
const createMailDev: (options: MailDevOptions) => { listen(): Promise<void> } = createRequire(
  import.meta.url,
)('maildev')

const host = '127.0.0.1'
const { PORT: smtp } = parseSettings(['PORT'], { PORT: process.env.MAILDEV_SMTP_PORT })
const { PORT: web } = parseSettings(['PORT'], { PORT: process.env.MAILDEV_WEB_PORT })

process.once('disconnect', () => process.exit(0))
await createMailDev({ ip: host, smtp, web, silent: true }).listen()
while (!(await isPortTaken(host, web))) {
  await new Promise((resolve) => setTimeout(resolve, 50))
}
process.send?.({ ready: true, address: `http://${host}:${web}` })
