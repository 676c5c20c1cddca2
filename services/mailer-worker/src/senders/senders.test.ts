import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, it } from 'vitest'
import { createFileSender } from './file.ts'
import { PermanentFailure, SenderFailure } from './sender.ts'
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

  it.each([
    { why: 'the folder cannot be created', folder: () => '/dev/full/mails', says: /ENOTDIR|EEXIST/ },
    {
      why: 'the name is taken by a folder',
      async folder() {
        const folder = await mkdtemp(join(tmpdir(), 'mail-'))
        await mkdir(join(folder, 'job-1.eml'))
        await mkdir(join(folder, '.probe'))
        return folder
      },
      says: /EISDIR/,
    },
  ])('leaves nothing behind and says so where $why', async ({ folder, says }) => {
    const path = await folder()
    const sender = createFileSender(pathToFileURL(path).href, { concurrency: 1 })
    for (const work of [() => sender.send(mail), () => sender.verify()]) {
      const failure = await work().catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(SenderFailure)
      expect(String(failure)).toMatch(says)
    }
    expect((await readdir(path).catch(() => [])).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('leaves nothing behind when it is checked', async () => {
    const folder = join(await mkdtemp(join(tmpdir(), 'mail-')), 'out')
    await createFileSender(pathToFileURL(folder).href, { concurrency: 1 }).verify()
    expect(await readdir(folder)).toEqual([])
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
    { how: 'by default', query: '', name: 'example.com' },
    { how: 'as `name` says', query: '?name=mail.example.org', name: 'mail.example.org' },
  ])('greets with the name of the sender $how', async ({ query, name }) => {
    const names: string[] = []
    const options: SMTPServerOptions = {
      disabledCommands: ['STARTTLS', 'AUTH'],
      onMailFrom(_address, { hostNameAppearsAs }, callback) {
        names.push(hostNameAppearsAs)
        callback()
      },
    }
    await withServer(options, async (port) => {
      const url = `smtp://127.0.0.1:${port}${query}`
      const sender = createSmtpSender(url, { concurrency: 1, name: 'example.com' })
      await sender.send(mail)
      await sender.close()
    })
    expect(names).toEqual([name])
  })

  it.each([
    {
      query: '',
      sends: /certificate.*; set NODE_EXTRA_CA_CERTS, or see docs\/how-to\/connect-a-mail-server\.md/,
    },
    { query: '?ignoreTLS=true', sends: 'in clear' },
    { query: '?tls.rejectUnauthorized=false', sends: 'encrypted' },
  ])('with "$query" sends to a relay with a certificate of its own: $sends', async ({ query, sends }) => {
    const sent: string[] = []
    const options: SMTPServerOptions = {
      authOptional: true,
      onMailFrom(_address, { secure }, callback) {
        sent.push(secure ? 'encrypted' : 'in clear')
        callback()
      },
    }
    await withServer(options, async (port) => {
      const sender = createSmtpSender(`smtp://127.0.0.1:${port}${query}`, { concurrency: 1 })
      const failures = [sender.verify(), sender.send(mail)].map((work) => work.catch(String))
      for (const failure of await Promise.all(failures)) {
        if (typeof sends === 'string') expect(failure).toBeUndefined()
        else expect(failure).toMatch(sends)
      }
      await sender.close()
    })
    expect(sent).toEqual(typeof sends === 'string' ? [sends] : [])
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
