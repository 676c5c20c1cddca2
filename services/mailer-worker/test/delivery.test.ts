import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { waitFor } from '../../test/support/wait-for.ts'
import type { WorkerProcess } from '../../test/support/worker-process.ts'
import { anAddress, type MailSystem, openMailSystem } from './support/mail-system.ts'
import { createOwnServers } from './support/own-servers.ts'

// What knows no database and no queue: once, on PostgreSQL.
describe('delivering mail', () => {
  let servers: Awaited<ReturnType<typeof createOwnServers>>
  let system: MailSystem
  /** One for all: it starts while the mail server is down, and stops at the end. */
  let worker: WorkerProcess
  beforeAll(async () => {
    servers = await createOwnServers()
    system = await openMailSystem(servers)
    await system.mailbox.goDown()
    worker = await system.startWorker({}, { withIpc: true })
  })
  afterAll(async () => {
    await worker?.[Symbol.asyncDispose]()
    await system?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
  })

  it('waits for a mail server that is down, and sends once it is up', async () => {
    const { mailbox, producer } = system
    const address = anAddress()
    await producer.request(address)
    await waitFor(async () => (await worker.get('/health/live').catch(() => undefined))?.ok === true)
    await waitFor(async () => (await worker.metric('latchkey_mail_retried_total')) > 0)
    const ready = await worker.get('/health/ready')
    expect([ready.status, await ready.json()]).toMatchObject([503, { checks: { mail: 'unreachable' } }])
    await mailbox.comeUp()
    await system.expectOneEach([address])
    await worker.ready()
  })

  describe('to a mail server that is up', () => {
    // It is, unless only this block runs.
    beforeAll(() => system.mailbox.comeUp())

    it('retries a mail that the server refuses with 4xx', async () => {
      const address = anAddress()
      const retried = await worker.metric('latchkey_mail_retried_total')
      system.mailbox.answers.set(address, [451, 451])
      await system.producer.request(address)
      await system.expectOneEach([address])
      expect(await worker.metric('latchkey_mail_retried_total')).toBe(retried + 2)
    })

    it('falls back to English for a language without templates', async () => {
      const address = anAddress()
      await system.producer.request(address, { language: 'xx' })
      await system.expectOneEach([address])
      expect(system.mailbox.to(address)[0]?.html).toContain('lang="en"')
    })

    it('keeps a mail that can never be sent as a failed job, with the reason', async () => {
      const { mailbox, producer } = system
      const address = anAddress()
      const unknown = await producer.request(address, { template: 'no-such-template' })
      const malformed = await producer.request(address, { to: 'a@example.com, b@example.com' })
      const failed = async (id: string) => (await producer.queue.listFailed()).find((each) => each.id === id)
      await expect
        .poll(() => failed(unknown))
        .toMatchObject({ attempts: 1, reason: expect.stringContaining('no-such-template') })
      await expect
        .poll(() => failed(malformed))
        .toMatchObject({ attempts: 1, reason: expect.stringContaining('malformed') })
      expect(mailbox.to(address)).toHaveLength(0)
    })

    it('stops by itself when the process that spawned it closes the channel', async () => {
      await worker.ready()
      worker.process.disconnect()
      await waitFor(() => worker.process.exitCode !== null)
      expect(worker.process.exitCode).toBe(0)
    })
  })
})
