// The inbox of `npm start`: MailDev accepts every mail and shows it on a page. In its own process, so that it ends with
// the launcher.
import { createRequire, Module } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT_PORT_TAKEN } from './exit-port-taken.ts'

interface MailDevOptions {
  ip: string
  smtp: number
  web: number
  silent: boolean
}

const require = createRequire(import.meta.url)
deferJsdom()
// MailDev has no types.
const createMailDev: (options: MailDevOptions) => { listen(): Promise<void> } = require('maildev')

const host = '127.0.0.1'
// The launcher has chosen them.
const smtp = Number(process.env.MAILDEV_SMTP_PORT)
const web = Number(process.env.MAILDEV_WEB_PORT)
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

/** Loads jsdom when a mail is first opened: MailDev cleans HTML by it, and would take half of its start to load it. */
function deferJsdom(): void {
  const requireAsMailDev = createRequire(require.resolve('maildev'))
  const path = requireAsMailDev.resolve('jsdom')
  const deferred = new Module(path)
  deferred.loaded = true
  deferred.exports = {
    JSDOM: function JSDOM(html: string) {
      delete require.cache[path]
      return new (requireAsMailDev('jsdom').JSDOM)(html)
    },
  }
  require.cache[path] = deferred
}
