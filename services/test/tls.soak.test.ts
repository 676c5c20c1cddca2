import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  addressOf,
  serviceEnvironment,
  startAuthApiProcess,
} from '@latchkey/test-support/auth-api-process.ts'
import { type Authority, anAuthority } from '@latchkey/test-support/certificate-authority.ts'
import { ROOT, run } from '@latchkey/test-support/images.ts'
import { startRedisServers } from '@latchkey/test-support/redis-servers.ts'
import { startServices } from '@latchkey/test-support/running-services.ts'
import { SERVERS, startServer } from '@latchkey/test-support/tls-servers.ts'
import { startWorkerProcess } from '@latchkey/test-support/worker-process.ts'
import { SMTPServer } from 'smtp-server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'

/** The addresses of the page, by their schemes. */
const URLS = readSnippets(ROOT, 'docs/how-to/encrypt-connections.md')
  .flatMap(({ text }) => text.split('\n'))
  .flatMap((line) => /^[A-Z_]+_URL='?(\w+:[^']+)'?$/.exec(line)?.[1] ?? [])

/** A mail server that takes mail only over TLS; returns its host and port, and whom it has had mail for. */
async function startMailServer({ server }: Authority, secure: boolean) {
  const recipients: string[] = []
  const smtp = new SMTPServer({
    ...server,
    secure,
    onAuth: (_, __, callback) => callback(null, { user: 'robot' }),
    onRcptTo: ({ address }, { secure: isEncrypted }, callback) => {
      if (isEncrypted) recipients.push(address)
      callback(isEncrypted ? undefined : new Error('TLS is required'))
    },
  })
  smtp.on('error', () => undefined)
  smtp.listen(0, '127.0.0.1')
  await once(smtp.server, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => void smtp.close(resolve)))
  return { host: `localhost:${(smtp.server.address() as AddressInfo).port}`, recipients }
}

describe.each([
  { database: 'postgres', isSecure: true },
  { database: 'mysql', isSecure: false },
] as const)('with TLS to $database, Redis and the mail server', ({ database, isSecure }) => {
  it('the services work with an authority of their own, and trust no server without it', async () => {
    const authority = await anAuthority()
    const hosts = {
      [database]: await startServer(database, authority),
      rediss: await startServer('redis', authority),
    }
    const mail = await startMailServer(authority, isSecure)
    const place = (scheme: string, login: string, host: string) => {
      const written = URLS.find((url) => url.startsWith(`${scheme}:`)) ?? ''
      return written.replace(/\/\/.*@[^/?]+/, `//${login}@${host}`)
    }
    const settings = {
      ...serviceEnvironment(),
      PATH: process.env.PATH ?? '',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
      DATABASE_URL: place(database, SERVERS[database].owner, hosts[database] ?? ''),
      QUEUE_URL: place('rediss', SERVERS.redis.owner, hosts.rediss),
      MAIL_URL: place(isSecure ? 'smtps' : 'smtp', 'robot:secret', mail.host),
      SIGN_UP: 'on',
    }
    const trusting = { ...settings, NODE_EXTRA_CA_CERTS: authority.path }
    await run(process.execPath, [join(ROOT, 'scripts/release/migrate.ts'), 'up'], { env: trusting })
    await using api = startAuthApiProcess(trusting)
    const origin = await addressOf(api)
    await using worker = await startWorkerProcess(trusting)
    const response = await fetch(`${origin}/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        email: 'ada@example.com',
        username: 'ada',
        password: 'Qx7!mountain-Vr',
        name: 'Ada',
      }),
    })
    expect(response.status).toBe(202)
    await expect.poll(() => mail.recipients).toEqual(['ada@example.com'])
    expect(api.output() + worker.log()).not.toContain('has no TLS')

    const DATABASE_URL =
      database === 'postgres'
        ? `${settings.DATABASE_URL}&sslrootcert=${authority.path}`
        : settings.DATABASE_URL
    await using distrusting = await startWorkerProcess({ ...settings, DATABASE_URL })
    await expect.poll(() => distrusting.log()).toContain('not ready, waiting')
    const log = distrusting.log()
    expect(log).toMatch(/mail at [^"]*certificate/)
    // The name of the queue is in the database.
    const isDatabaseTrusted = database === 'postgres'
    expect(log).toMatch(
      isDatabaseTrusted ? /queue at [^"]*certificate/ : /queue at [^"]*: waits for the database/,
    )
    expect(/database at [^"]*certificate/.test(log), log).toBe(!isDatabaseTrusted)
  })
})

describe.each([
  { image: 'redis:8', topology: 'Sentinel' },
  { image: 'valkey/valkey:9', topology: 'Cluster' },
] as const)('with TLS to a $topology of $image', ({ image, topology }) => {
  it('the queue follows its primary, and a client that does not trust it is told why', async () => {
    const authority = await anAuthority()
    await using redis = await startRedisServers(image, topology, authority)
    await using flow = await startServices('PostgreSQL only', {
      both: { QUEUE_URL: redis.url, NODE_EXTRA_CA_CERTS: authority.path },
    })
    const arrives = async () => {
      const { email } = await flow.newUser()
      expect((await flow.request(email)).status).toBe(200)
      await expect.poll(() => flow.mailbox.to(email)).toHaveLength(1)
    }
    await arrives()
    const old = await redis.primary()
    await redis.switchOver()
    await expect.poll(() => redis.primary()).not.toBe(old)
    await arrives()

    const other = await anAuthority()
    await using distrusting = await flow.startWorker({ NODE_EXTRA_CA_CERTS: other.path })
    await expect.poll(() => distrusting.log()).toContain('not ready, waiting')
    expect(distrusting.log()).toMatch(
      /"queue at localhost:[^"]*certificate is not trusted; set NODE_EXTRA_CA_CERTS\)"/,
    )
    expect(flow.api.output() + flow.worker.log()).not.toContain('has no TLS')
  })
})
