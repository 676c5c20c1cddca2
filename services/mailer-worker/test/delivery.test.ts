import { waitFor } from '@latchkey/test-support/wait-for.ts'
import type { WorkerProcess } from '@latchkey/test-support/worker-process.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anAddress, type MailSystem, openMailSystem } from './support/mail-system.ts'
import { createOwnServers } from './support/own-servers.ts'

// These cases depend on no database and no queue. They run once, on PostgreSQL.
describe('delivering mail', () => {
  let servers: Awaited<ReturnType<typeof createOwnServers>>
  let system: MailSystem
  /** One for all: it starts while the mail server is down. */
  let worker: WorkerProcess
  beforeAll(async () => {
    servers = await createOwnServers()
    system = await openMailSystem(servers)
    await system.mailbox.goDown()
    worker = await system.startWorker()
  })
  afterAll(async () => {
    await worker?.[Symbol.asyncDispose]()
    await system?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
  })

  it('is ready while the mail server is down, and sends once it is up', async () => {
    const { mailbox, producer } = system
    const address = anAddress()
    await mailbox.goDown()
    await waitFor(async () => (await worker.get('/health/live').catch(() => undefined))?.ok === true)
    const retried = await worker.metric('latchkey_mail_retried_total')
    await producer.request(address)
    await expect.poll(() => worker.metric('latchkey_mail_retried_total')).toBeGreaterThan(retried)
    const checks = { service: 'degraded', database: 'ok', queue: 'ok', mail: 'unreachable' }
    const readReady = async () => {
      const ready = await worker.get('/health/ready')
      return [ready.status, await ready.json()]
    }
    await expect.poll(readReady).toEqual([200, { status: 'ok', checks }])
    const metrics = await (await worker.get('/metrics')).text()
    expect(metrics).toContain('latchkey_dependency_up{dependency="mail"} 0\n')
    await mailbox.comeUp()
    await system.expectOneEach([address])
    await worker.ready()
  })

  describe('to a mail server that is up', () => {
    beforeAll(async () => {
      await system.mailbox.comeUp()
      await worker.ready()
    })

    it('retries a mail that the server refuses with 4xx', async () => {
      const address = anAddress()
      const retried = await worker.metric('latchkey_mail_retried_total')
      system.mailbox.answers.set(address, [451, 451])
      await system.producer.request(address)
      await system.expectOneEach([address])
      expect(await worker.metric('latchkey_mail_retried_total')).toBe(retried + 2)
    })

    it('keeps mail while the server refuses its sender, says so once, and sends it afterwards', async () => {
      const { mailbox, producer } = system
      const retried = await worker.metric('latchkey_mail_retried_total')
      const failed = await worker.metric('latchkey_mail_failed_total')
      const readChecks = async () =>
        ((await (await worker.get('/health/ready')).json()) as { checks: object }).checks
      const refusal = '530 5.7.0 Authentication required'
      mailbox.refusesSenders = refusal
      const addresses = [anAddress(), anAddress()]
      const ids = await system.requestAll(addresses)
      await expect
        .poll(() => worker.metric('latchkey_mail_retried_total'))
        .toBeGreaterThanOrEqual(retried + 4)
      const checks = { service: 'degraded', database: 'ok', queue: 'ok', mail: 'failing' }
      await expect.poll(readChecks).toEqual(checks)
      const linesWith = (text: string) =>
        worker
          .log()
          .split('\n')
          .filter((line) => line.includes(text))
      await expect.poll(() => linesWith(refusal)).toHaveLength(1)
      expect(linesWith(refusal)[0]).toContain('(MAIL_URL): failing (SMTP MAIL FROM: 530 5.7.0')
      const failures = await producer.queue.listFailed()
      expect(failures.filter(({ id }) => ids.includes(id))).toEqual([])
      expect(await producer.outbox.findOldest()).toBeInstanceOf(Date)
      mailbox.refusesSenders = undefined
      await system.expectOneEach(addresses)
      await expect.poll(readChecks).toMatchObject({ service: 'ok', mail: 'ok' })
      expect(linesWith(refusal)).toHaveLength(1)
      expect(await worker.metric('latchkey_mail_failed_total')).toBe(failed)
    })

    it('tries a mail whose template it does not know again, until it expires', async () => {
      const [expired, retried] = await Promise.all(
        ['expired', 'retried'].map((outcome) => worker.metric(`latchkey_mail_${outcome}_total`)),
      )
      const expiresAt = new Date(Date.now() + 2_500).toISOString()
      const id = await system.producer.request(anAddress(), { template: 'no-such-template', expiresAt })
      await expect.poll(() => worker.metric('latchkey_mail_expired_total')).toBe((expired ?? 0) + 1)
      expect(await worker.metric('latchkey_mail_retried_total')).toBeGreaterThan(retried ?? 0)
      expect(await system.findUnsettled(id)).toEqual([])
    })

    it('keeps a mail that can never be sent as a failed job, with the reason', async () => {
      const { mailbox, producer } = system
      const address = anAddress()
      const malformed = await producer.request(address, { to: 'a@example.com, b@example.com' })
      const failed = async (id: string) => (await producer.queue.listFailed()).find((each) => each.id === id)
      await expect
        .poll(() => failed(malformed))
        .toMatchObject({ attempts: 1, reason: expect.stringContaining('malformed') })
      expect(mailbox.to(address)).toHaveLength(0)
    })

    it('stops by itself when the process that spawned it closes the channel', async () => {
      await using own = await system.startWorker()
      await own.ready()
      own.process.disconnect()
      await expect.poll(() => own.process.exitCode).toBe(0)
    })
  })
})
