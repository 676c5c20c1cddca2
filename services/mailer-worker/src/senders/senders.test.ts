import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, it } from 'vitest'
import { createFileSender } from './file.ts'
import { PermanentFailure } from './sender.ts'
import { createSmtpSender } from './smtp.ts'

const mail = {
  messageId: '<job-1@example.com>',
  from: 'Latchkey <no-reply@example.com>',
  to: 'élan@example.com',
  subject: 'Votre code de réinitialisation',
  html: '<p>012345</p>',
  text: '012345',
}
const dkim = {
  domainName: 'example.com',
  keySelector: 'mail',
  privateKey: generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString(),
}

async function withServer(
  options: SMTPServerOptions,
  work: (port: number, received: string[]) => Promise<void>,
) {
  const received: string[] = []
  const server = new SMTPServer({
    onData(stream, _session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => callback(null, void received.push(Buffer.concat(chunks).toString()) as never))
    },
    ...options,
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const address = server.server.address()
  try {
    await work(typeof address === 'object' ? (address?.port ?? 0) : 0, received)
  } finally {
    await new Promise((resolve) => server.close(() => resolve(undefined)))
  }
}

const refusing = (stage: 'onMailFrom' | 'onRcptTo', responseCode: number): SMTPServerOptions => ({
  authOptional: true,
  [stage]: (_address: unknown, _session: unknown, callback: (error: Error) => void) =>
    callback(Object.assign(new Error('refused'), { responseCode })),
})

describe('file:', () => {
  it('writes one whole message a mail, and a repeat over its own', async () => {
    const folder = join(await mkdtemp(join(tmpdir(), 'mail-')), 'out')
    const sender = createFileSender(pathToFileURL(folder).href, { concurrency: 1 })
    await sender.send(mail)
    await sender.send(mail)
    expect(await readdir(folder)).toEqual(['job-1.eml'])
    const parsed = await PostalMime.parse(await readFile(join(folder, 'job-1.eml')))
    expect(parsed).toMatchObject({
      subject: mail.subject,
      messageId: mail.messageId,
      to: [{ address: mail.to }],
    })
    expect(parsed.text?.trim()).toBe('012345')
  })
})

describe('smtp:', () => {
  it('upgrades to TLS before it logs in, and signs', async () => {
    const logins: string[] = []
    const options: SMTPServerOptions = {
      onAuth({ username, password }, session, callback) {
        logins.push(`${username}:${password}:${session.secure}`)
        callback(null, { user: username })
      },
    }
    await withServer(options, async (port, received) => {
      const url = `smtp://us%40er:p%3Aw@127.0.0.1:${port}?tls.rejectUnauthorized=false`
      const sender = createSmtpSender(url, { concurrency: 2, dkim })
      await sender.verify()
      await sender.send(mail)
      await sender.close()
      expect(logins).toContain('us@er:p:w:true')
      expect(received[0]).toMatch(/^DKIM-Signature: v=1; a=rsa-sha256;.*d=example\.com;.*s=mail;/ms)
      expect(received[0]).toContain('Auto-Submitted: auto-generated')
    })
  })

  it('does not show its password to a server without TLS', async () => {
    let didLogIn = false
    const options: SMTPServerOptions = {
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth(_auth, _session, callback) {
        didLogIn = true
        callback(null, { user: 'x' })
      },
    }
    await withServer(options, async (port) => {
      const sender = createSmtpSender(`smtp://user:password@127.0.0.1:${port}`, { concurrency: 1 })
      await expect(sender.send(mail)).rejects.not.toThrow(PermanentFailure)
      expect(didLogIn).toBe(false)
      await sender.close()
    })
  })

  it.each([
    { stage: 'onMailFrom', code: 550, isPermanent: true },
    { stage: 'onRcptTo', code: 550, isPermanent: true },
    { stage: 'onRcptTo', code: 450, isPermanent: false },
    { stage: 'onMailFrom', code: 421, isPermanent: false },
  ] as const)('takes $code at $stage as permanent: $isPermanent', async ({ stage, code, isPermanent }) => {
    await withServer({ ...refusing(stage, code), disabledCommands: ['STARTTLS', 'AUTH'] }, async (port) => {
      const sender = createSmtpSender(`smtp://127.0.0.1:${port}`, { concurrency: 1 })
      const error = await sender.send(mail).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(Error)
      expect(error instanceof PermanentFailure).toBe(isPermanent)
      await sender.close()
    })
  })

  it.each([
    {
      why: 'refuses the login',
      options: { onAuth: (_a: unknown, _s: unknown, done: (e: Error) => void) => done(new Error('no')) },
    },
  ])('tries again later when the server $why', async ({ options }) => {
    await withServer(options as SMTPServerOptions, async (port) => {
      const sender = createSmtpSender(`smtp://u:p@127.0.0.1:${port}?tls.rejectUnauthorized=false`, {
        concurrency: 1,
      })
      await expect(sender.send(mail)).rejects.not.toThrow(PermanentFailure)
      await sender.close()
    })
  })

  it('does not wait for ever for a server that accepts and says nothing', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const sender = createSmtpSender(`smtp://127.0.0.1:${port}?greetingTimeout=300`, { concurrency: 1 })
    await expect(sender.send(mail)).rejects.not.toThrow(PermanentFailure)
    await sender.close()
    server.close()
  })
})
