import { randomUUID } from 'node:crypto'
import type { SqlValue } from '@latchkey/shared/database/database.ts'
import { insertRows } from '@latchkey/shared/database/insert-rows.ts'
import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { nameQueue, openBullQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { hasBrowser, openBrowser, openPage } from '@latchkey/test-support/browser.ts'
import { type Servers, startServers } from '@latchkey/test-support/mail-servers.ts'
import { hasDocker } from '@latchkey/test-support/servers/shared-server.ts'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import type { WorkerProcess } from '@latchkey/test-support/worker-process.ts'
import { Queue } from 'bullmq'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { expectMailToSurviveKills } from './support/kill-workers.ts'
import { addressesOf, anAddress, type MailSystem, openMailSystem } from './support/mail-system.ts'

describe.skipIf(!hasDocker()).each(inject('combinations'))('mail on %s', (combination) => {
  const isDatabaseToo = combination === 'PostgreSQL only'
  // startServers names the installation.
  const board = isDatabaseToo ? 'mail-test' : 'mail'
  let servers: Servers
  let system: MailSystem
  let address = ''

  beforeAll(async () => {
    servers = await startServers(combination)
    system = await openMailSystem(servers)
  })
  afterAll(async () => {
    await system?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    address = anAddress()
    system.mailbox.delayMs = 0
  })

  describe('with one worker', () => {
    let worker: WorkerProcess
    beforeAll(async () => {
      worker = await system.startWorker()
      await worker.ready()
    })
    afterAll(() => worker?.kill('SIGTERM'))

    it('sends what was requested, in the requested language, under the id of the job', async () => {
      const { mailbox, producer } = system
      const id = await producer.request(address, { language: 'fr' })
      const code = producer.codes.at(-1) ?? ''
      await system.expectOneEach([address])
      const [mail] = mailbox.to(address)
      expect(mail).toMatchObject({
        messageId: `<${id}@example.com>`,
        subject: '[test] Votre code de réinitialisation',
        from: { name: 'Latchkey test', address: 'no-reply@example.com' },
      })
      expect(mail?.text).toContain(`${code.slice(0, 3)} ${code.slice(3)}`)
      expect(mail?.html).toContain('lang="fr"')
      await expect.poll(() => system.findUnsettled(id)).toEqual([])
      await expect.poll(() => worker.metric('latchkey_mail_sent_total')).toBe(1)
    })

    it('sends a mail once, though a crash hid that the queue had it', async () => {
      const { producer } = system
      // auth-api added it to the queue, and died before it could record that.
      const id = await producer.requestAndDie(address)
      const due = { before: new Date(Date.now() + 60_000), limit: 1, offset: 0 }
      const [row] = await producer.outbox.findLeftBehind(due)
      await producer.queue.add(id, JSON.parse(row?.payload ?? '{}'))
      await expect.poll(() => system.findUnsettled(id)).toEqual([])
      await system.expectOneEach([address])
    })

    it.each([
      { what: 'the queue forgot that it was sent', ageMs: 10_000 },
      { what: 'somebody removed its job and added it again', ageMs: 0 },
    ])('sends a mail once, though $what', async ({ ageMs }) => {
      const { producer } = system
      const id = await producer.request(address)
      await expect.poll(() => system.findUnsettled(id)).toEqual([])
      const bull = await producer.queue.bull()
      await expect.poll(async () => (await bull.getJob(id))?.isCompleted()).toBe(true)
      const job = await bull.getJob(id)
      await job?.remove()
      await producer.queue.add(id, job?.data, new Date(Date.now() - ageMs))
      await expect.poll(async () => (await bull.getJob(id))?.returnvalue).toBe('sent before')
      await system.expectOneEach([address])
    })

    it('sends what its writer could not add to the queue', async () => {
      await system.producer.requestAndDie(address)
      await system.expectOneEach([address])
    })

    it('gives up after a 5xx, and keeps the job to be retried', async () => {
      const { mailbox, producer } = system
      const failed = async (id: string) => (await producer.queue.listFailed()).find((each) => each.id === id)
      mailbox.answers.set(address, [550])
      const id = await producer.request(address)
      await expect
        .poll(() => failed(id))
        .toMatchObject({ attempts: 1, reason: expect.stringContaining('550') })
      expect(await worker.metric('latchkey_mail_failed_total')).toBe(1)
      expect(await producer.queue.retryFailed(id)).toBe(true)
      await system.expectOneEach([address])
    })

    describe('at /queue', () => {
      let id = ''
      beforeEach(async () => {
        system.mailbox.answers.set(address, [550])
        id = await system.producer.request(address)
        await expect.poll(async () => (await jobsIn('failed')).map((job) => job.id)).toContain(id)
      })
      afterEach(() => system.producer.queue.retryFailed(id).then(() => system.expectOneEach([address])))

      const jobsIn = async (status: string): Promise<{ id: string; data: unknown }[]> => {
        const answer = await worker.get(`/queue/api/queues?activeQueue=${board}&status=${status}`)
        return JSON.parse(await answer.text()).queues[0].jobs
      }

      it('shows the jobs without what is sealed in them, and changes none', async () => {
        const job = (await jobsIn('failed')).find((each) => each.id === id)
        expect(job).toMatchObject({
          data: { to: address, template: 'password-reset', variables: '(sealed)' },
          failedReason: expect.stringContaining('550'),
        })
        for (const change of [
          'retry/failed',
          'clean/failed',
          'empty',
          'pause',
          `${id}/remove`,
          `${id}/retry`,
        ]) {
          const { status } = await fetch(`${worker.url}/queue/api/queues/${board}/${change}`, {
            method: 'PUT',
          })
          expect({ change, isDone: status < 400 }).toEqual({ change, isDone: false })
        }
        expect((await jobsIn('failed')).map((each) => each.id)).toContain(id)
      })

      it.skipIf(!hasBrowser || isDatabaseToo)('is a page on which a failed mail is found', async () => {
        await using closing = new AsyncDisposableStack()
        const browser = closing.adopt(await openBrowser(), (opened) => opened.close())
        const { page } = closing.use(await openPage(browser, worker.url))
        await page.goto(`${worker.url}/queue/queue/mail?status=failed`)
        const text = () => page.locator('body').innerText()
        // The page loads its lists after itself.
        await expect.poll(text, { timeout: 10_000 }).toContain(id)
        await expect.poll(text).toContain('550')
        await page.getByRole('tab', { name: 'Data' }).click()
        await expect.poll(text).toContain('(sealed)')
        expect(await page.content()).not.toContain(system.producer.codes.at(-1))
        expect(await page.getByRole('button', { name: /retry|clean|pause/i }).count()).toBe(0)
      })
    })

    it('drops a mail whose code has expired, in the queue and in the outbox, and counts it', async () => {
      const expiresAt = new Date(Date.now() - 1_000).toISOString()
      const ids = [
        await system.producer.request(address, { expiresAt }),
        await system.producer.requestAndDie(address, { expiresAt }),
      ]
      await expect.poll(() => worker.metric('latchkey_mail_expired_total')).toBe(2)
      expect(system.mailbox.to(address)).toHaveLength(0)
      expect(await system.findUnsettled(...ids)).toEqual([])
    })

    it('sends each mail once with two workers', async () => {
      await using second = await system.startWorker()
      await second.ready()
      const addresses = addressesOf(address, 60)
      await system.requestAll(addresses)
      await system.expectOneEach(addresses)
    })

    it.skipIf(isDatabaseToo)('sends what a flushed Redis has lost, each mail once', async () => {
      const { mailbox, producer } = system
      const addresses = addressesOf(address, 20)
      await mailbox.goDown()
      const waited = await worker.metric('latchkey_mail_wait_seconds_sum')
      const restored = await worker.metric('latchkey_mail_outbox_restored_total')
      const ids = await system.requestAll(addresses)
      await expect.poll(() => producer.outbox.findOldestUndispatched()).toBe(undefined)
      await servers.flushQueue()
      await mailbox.comeUp()
      await system.expectOneEach(addresses)
      await expect.poll(() => system.findUnsettled(...ids)).toEqual([])
      expect(await worker.metric('latchkey_mail_outbox_restored_total')).toBeGreaterThan(restored)
      // A mail that was added again has waited since it was accepted, before the first one was sent.
      expect(await worker.metric('latchkey_mail_wait_seconds_sum')).toBeGreaterThan(waited + 20)
    })

    it('accepts mail while the queue is unavailable, and sends it once that is back', async () => {
      const addresses = addressesOf(address, 10)
      await servers.withoutQueue(async () => {
        // With both on one server no request is accepted during the outage; the worker must live through it.
        if (!isDatabaseToo) await system.requestAll(addresses)
        await expect.poll(async () => (await worker.get('/health/ready')).status).toBe(503)
      })
      if (isDatabaseToo) {
        const isUp = () =>
          system.producer.outbox.findOldestUndispatched().then(
            () => true,
            () => false,
          )
        await waitFor(isUp)
        await system.requestAll(addresses)
      }
      await system.expectOneEach(addresses)
      await worker.ready()
    })
  })

  it('finishes the mail in flight when it is stopped, and exits 0; nothing arrives twice', async () => {
    const { mailbox } = system
    mailbox.delayMs = 300
    const addresses = addressesOf(address, 40)
    await system.requestAll(addresses)
    {
      await using worker = await system.startWorker()
      await waitFor(() => addresses.some((each) => mailbox.to(each).length > 0))
      expect(await worker.kill('SIGTERM')).toBe(0)
    }
    const before = addresses.filter((each) => mailbox.to(each).length > 0).length
    expect(before).toBeLessThan(addresses.length)
    mailbox.delayMs = 0
    await using _next = await system.startWorker()
    await system.expectOneEach(addresses)
  })

  it('starts no more mails per second than MAIL_RATE', async () => {
    const name = nameQueue(servers.queueUrl, await createReadInstallation(system.producer.db)())
    const { queue, close } = openBullQueue(servers.queueUrl, name, {}, () => undefined)
    if (!(queue instanceof Queue)) throw new Error('Only a whole queue knows its rate limit')
    const addresses = addressesOf(address, 4)
    await system.requestAll(addresses)
    await using _worker = await system.startWorker({ MAIL_RATE: '1' })
    // Once one is started, the others wait, though the worker is idle.
    const isLimited = async () => {
      if ((await queue.getRateLimitTtl(1)) <= 0) return false
      const { waiting, active } = await system.producer.queue.counts()
      return waiting > 0 && active === 0
    }
    await expect.poll(isLimited, { interval: 10 }).toBe(true)
    await system.expectOneEach(addresses)
    await close()
  })

  it('deletes what has expired', async () => {
    const { db } = system.producer
    const dayAgo = new Date(Date.now() - 25 * 3_600_000)
    const reset = { id: db.toUuidValue(randomUUID()), email: address, token_hash: 'x', code_hash: 'x' }
    const row: Record<string, SqlValue> = { ...reset, expires_at: dayAgo }
    await insertRows(db, 'password_reset', Object.keys(row), [Object.values(row)])
    await using _worker = await system.startWorker()
    const find = { name: 'test-find-resets', text: 'select email from password_reset where email = $1' }
    await expect.poll(() => db.query(find, [address])).toEqual([])
  })

  it('loses nothing when workers are killed, and repeats under the same Message-ID', async () => {
    expect(await expectMailToSurviveKills(system, { mails: 40, kills: 2 })).toContain('40 arrived')
  })

  it('leaves no code in the database, the queue or the log', async () => {
    const { producer, logs } = system
    await producer.request(`unsent-${address}`)
    await producer.requestAndDie(`unsent-too-${address}`)
    const dump = await servers.dump()
    expect(dump).toContain(`unsent-${address}`)
    const shown = producer.codes.filter((code) =>
      new RegExp(`(?<![0-9a-f.])${code}(?![0-9a-f])`).test(`${dump}${logs.join('')}`),
    )
    // Of all codes so far, one may equal another number by chance; the last two are of the requests above.
    expect(shown.length).toBeLessThan(2)
    expect(shown).not.toContain(producer.codes.at(-1))
    expect(shown).not.toContain(producer.codes.at(-2))
  })
})
