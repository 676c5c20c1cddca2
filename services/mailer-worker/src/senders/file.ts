import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTransport } from 'nodemailer'
import { type SenderFactory, toMessage } from './sender.ts'

/** Writes each mail to the folder of `file:///…` as `<job id>.eml`; a repeat overwrites its own file. */
export const createFileSender: SenderFactory = (url, { dkim }) => {
  const folder = fileURLToPath(url)
  const transport = createTransport({ streamTransport: true, buffer: true, ...(dkim ? { dkim } : {}) })
  const prepare = () => mkdir(folder, { recursive: true, mode: 0o700 })
  return {
    async send(mail) {
      await prepare()
      const { message } = await transport.sendMail(toMessage(mail))
      const name = mail.messageId.replace(/^<|@.*$/g, '').replace(/[^\w-]/g, '_')
      // Programs that watch the folder for *.eml must not see an unfinished file.
      const unfinished = join(folder, `.${name}-${randomUUID()}.tmp`)
      await writeFile(unfinished, message, { mode: 0o600 })
      await rename(unfinished, join(folder, `${name}.eml`))
    },
    verify: async () => void (await prepare()),
    close: async () => undefined,
  }
}
