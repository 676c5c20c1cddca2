import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { createTransport } from 'nodemailer'
import { type SenderFactory, SenderFailure, toMessage } from './sender.ts'

/** A full disk takes an empty file, so it is written with a line. */
const PROBE = '.probe'

/** Writes each mail to the folder of `file:///…` as `<job id>.eml`; a repeat overwrites its own file. */
export const createFileSender: SenderFactory = (url, { dkim }) => {
  const folder = fileURLToPath(url)
  const transport = createTransport({ streamTransport: true, buffer: true, ...(dkim ? { dkim } : {}) })

  /** Programs that watch the folder for *.eml must not see an unfinished file. */
  async function store(name: string, content: Parameters<typeof writeFile>[1]): Promise<void> {
    const unfinished = join(folder, `.${name}-${randomUUID()}.tmp`)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(unfinished, content, { mode: 0o600 })
      await rename(unfinished, join(folder, name))
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => undefined)
      throw new SenderFailure(`The folder of MAIL_URL: ${errorMessage(error)}`)
    }
  }

  return {
    async send(mail) {
      const { message } = await transport.sendMail(toMessage(mail))
      const name = mail.messageId.replace(/^<|@.*$/g, '').replace(/[^\w-]/g, '_')
      await store(`${name}.eml`, message)
    },
    async verify() {
      await store(PROBE, 'mailer-worker can write here\n')
      await rm(join(folder, PROBE), { force: true })
    },
    close: async () => undefined,
  }
}
