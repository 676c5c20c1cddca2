// The inbox of `npm start`: MailDev accepts every mail and shows it on a page. In its own process, so that it ends with
// the launcher.
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { EXIT_PORT_TAKEN } from './exit-port-taken.ts'

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

const host = '127.0.0.1'
const { PORT: smtp } = parseSettings(['PORT'], { PORT: process.env.MAILDEV_SMTP_PORT })
const { PORT: web } = parseSettings(['PORT'], { PORT: process.env.MAILDEV_WEB_PORT })
const address = `http://${host}:${web}`

process.once('disconnect', () => process.exit(0))
// MailDev does not catch what its page cannot listen on.
process.once('uncaughtException', (error) => {
  const isPortTaken = 'code' in error && error.code === 'EADDRINUSE'
  console.error(isPortTaken ? `The mail inbox cannot start: ${error.message}` : error)
  process.exit(isPortTaken ? EXIT_PORT_TAKEN : 1)
})
await createMailDev({ ip: host, smtp, web, silent: true }).listen()
// MailDev does not report when its page can be opened.
while (!(await isAnswering())) await sleep(50)
process.send?.({ ready: true, address })

async function isAnswering(): Promise<boolean> {
  try {
    await fetch(address, { method: 'HEAD' })
    return true
  } catch {
    return false
  }
}
