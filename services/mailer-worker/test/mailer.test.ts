import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { hasDocker } from './support/docker.ts'
import { type Mailbox, openMailbox } from './support/mailbox.ts'
import { openProducer, type Producer } from './support/producer.ts'
import { type Servers, startServers } from './support/servers.ts'
import { waitFor } from './support/wait-for.ts'
import { startWorkerProcess, type WorkerProcess } from './support/worker-process.ts'

/** How many mails flow while workers are killed; 1,000 by hand. */
const KILLED_MAILS = Number(process.env.MAILS ?? 200)

describe.skipIf(!(await hasDocker())).each(inject('combinations'))('mail on %s', (combination) => {
  const secret = randomBytes(32)
  let servers: Servers
  let mailbox: Mailbox
  let producer: Producer
  let address = ''
  const logs: string[] = []

  beforeAll(async () => {
    servers = await startServers(combination)
    mailbox = await openMailbox()
    producer = openProducer(servers, secret)
  })
  afterAll(async () => {
    await producer?.[Symbol.asyncDispose]()
    await mailbox?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    address = `${randomBytes(6).toString('hex')}@example.com`
    mailbox.delayMs = 0
  })

  async function startWorker(settings: Record<string, string> = {}, options = {}): Promise<WorkerProcess> {
    const worker = await startWorkerProcess(
      {
        DATABASE_URL: servers.databaseUrl,
        QUEUE_URL: servers.queueUrl,
        MAIL_URL: mailbox.url,
        MAIL_SECRET: secret.toString('base64'),
        OUTBOX_SWEEP: '1',
        MAIL_RATE: '1000',
        ...settings,
      },
      options,
    )
    worker.process.once('close', () => logs.push(worker.log()))
    return worker
  }

  /** One after the other: the wait for one of the producer's few connections would end after 3 s. */
  async function requestAll(addresses: readonly string[]): Promise<string[]> {
    const ids: string[] = []
    for (const each of addresses) ids.push(await producer.request(each))
    return ids
  }

  /** The mails of which a worker said that they may come twice. */
  const announcedIn = (text: string) =>
    text
      .split('\n')
      .filter((line) => line.includes('it may come twice'))
      .map((line) => String(JSON.parse(line).mailId))

  const allSettled = async (...ids: string[]) =>
    !(await Promise.all(ids.map((id) => producer.outbox.has(id)))).includes(true)

  it('sends what was asked for, in the language asked for, under the id of the job', async () => {
    await using worker = await startWorker()
    await worker.ready()
    const id = await producer.request(address, { language: 'fr' })
    await waitFor(() => mailbox.to(address).length > 0)
    const [mail] = mailbox.to(address)
    expect(mail).toMatchObject({
      messageId: `<${id}@example.com>`,
      subject: '[test] Votre code de réinitialisation',
      from: { name: 'Latchkey test', address: 'no-reply@example.com' },
    })
    const code = producer.codes.at(-1) ?? ''
    expect(mail?.text).toContain(`${code.slice(0, 3)} ${code.slice(3)}`)
    expect(mail?.html).toContain('lang="fr"')
    await waitFor(() => allSettled(id))
    await expect.poll(() => worker.metric('latchkey_mail_sent_total')).toBe(1)
  })

  it('sends a mail once, though it is handed over again after a crash', async () => {
    await using worker = await startWorker()
    await worker.ready()
    // auth-api added it to the queue, and died before it could note that.
    const id = await producer.requestAndDie(address)
    const due = { writtenBefore: new Date(Date.now() + 60_000), dispatchedBefore: new Date(0) }
    const [row] = await producer.outbox.findDue({ ...due, limit: 1, offset: 0 })
    await producer.queue.add(id, JSON.parse(row?.payload ?? '{}'))
    await waitFor(() => mailbox.to(address).length > 0)
    await waitFor(() => allSettled(id))
    await wait(500)
    expect(mailbox.to(address)).toHaveLength(1)
  })

  it('sends what its writer could not even hand over', async () => {
    await using worker = await startWorker()
    await worker.ready()
    await producer.requestAndDie(address)
    await waitFor(() => mailbox.to(address).length > 0)
  })

  it('waits for a mail server that is down, and sends once it is up', async () => {
    await mailbox.goDown()
    await using worker = await startWorker()
    await producer.request(address)
    await waitFor(async () => (await worker.get('/health/live').catch(() => undefined))?.ok === true)
    await waitFor(async () => (await worker.metric('latchkey_mail_retried_total')) > 0)
    const ready = await worker.get('/health/ready')
    expect([ready.status, await ready.json()]).toMatchObject([503, { checks: { mail: 'unreachable' } }])
    await mailbox.comeUp()
    await waitFor(() => mailbox.to(address).length > 0)
    await worker.ready()
  })

  it('tries again after a 4xx', async () => {
    mailbox.answers.set(address, [451, 451])
    await using worker = await startWorker()
    await producer.request(address)
    await waitFor(() => mailbox.to(address).length > 0)
    expect(await worker.metric('latchkey_mail_retried_total')).toBe(2)
  })

  const failed = async (id: string) => (await producer.queue.listFailed()).find((each) => each.id === id)

  it('gives up after a 5xx, and keeps the job to be retried', async () => {
    mailbox.answers.set(address, [550])
    await using worker = await startWorker()
    const id = await producer.request(address)
    await waitFor(async () => (await failed(id)) !== undefined)
    expect(await failed(id)).toMatchObject({ attempts: 1, reason: expect.stringContaining('550') })
    expect(await worker.metric('latchkey_mail_failed_total')).toBe(1)
    expect(await producer.queue.retryFailed(id)).toBe(true)
    await waitFor(() => mailbox.to(address).length > 0)
  })

  it('parks what can never be sent, and says why', async () => {
    await using _worker = await startWorker()
    const unknown = await producer.request(address, { template: 'no-such-template' })
    const malformed = await producer.request(address, { to: 'a@example.com, b@example.com' })
    await waitFor(
      async () => (await failed(unknown)) !== undefined && (await failed(malformed)) !== undefined,
    )
    expect(await failed(unknown)).toMatchObject({
      attempts: 1,
      reason: expect.stringContaining('no-such-template'),
    })
    expect(await failed(malformed)).toMatchObject({
      attempts: 1,
      reason: expect.stringContaining('malformed'),
    })
    expect(mailbox.to(address)).toHaveLength(0)
  })

  it('falls back to English for a language only', async () => {
    await using _worker = await startWorker()
    await producer.request(address, { language: 'xx' })
    await waitFor(() => mailbox.to(address).length > 0)
    expect(mailbox.to(address)[0]?.html).toContain('lang="en"')
  })

  it('drops a mail whose code has expired, in the queue and in the outbox, and counts it', async () => {
    const expiresAt = new Date(Date.now() - 1_000).toISOString()
    const ids = [
      await producer.request(address, { expiresAt }),
      await producer.requestAndDie(address, { expiresAt }),
    ]
    await using worker = await startWorker()
    await waitFor(async () => (await worker.get('/health/live').catch(() => undefined))?.ok === true)
    await waitFor(async () => (await worker.metric('latchkey_mail_expired_total')) === 2)
    expect(mailbox.to(address)).toHaveLength(0)
    expect(await allSettled(...ids)).toBe(true)
  })

  it('accepts mail while the queue is away, and sends it once that is back', async () => {
    await using worker = await startWorker()
    await worker.ready()
    const addresses = Array.from({ length: 10 }, (_, index) => `${index}-${address}`)
    const isDatabaseToo = combination === 'PostgreSQL alone'
    await servers.withoutQueue(async () => {
      // With both on one server no request is accepted meanwhile; the worker must live through it.
      if (!isDatabaseToo) await requestAll(addresses)
      await waitFor(async () => (await worker.get('/health/ready')).status === 503)
    })
    if (isDatabaseToo) {
      await waitFor(() =>
        producer.outbox.countUndispatched().then(
          () => true,
          () => false,
        ),
      )
      await requestAll(addresses)
    }
    await waitFor(() => addresses.every((each) => mailbox.to(each).length > 0), 40_000)
    expect(addresses.map((each) => mailbox.to(each).length)).toEqual(addresses.map(() => 1))
    await worker.ready()
  })

  it.skipIf(combination === 'PostgreSQL alone')(
    'sends what a flushed Redis has lost, each mail once',
    async () => {
      const addresses = Array.from({ length: 20 }, (_, index) => `${index}-${address}`)
      await mailbox.goDown()
      await using worker = await startWorker()
      const ids = await requestAll(addresses)
      await waitFor(async () => (await producer.outbox.countUndispatched()) === 0)
      await servers.flushQueue()
      await mailbox.comeUp()
      await waitFor(() => addresses.every((each) => mailbox.to(each).length > 0), 40_000)
      await waitFor(() => allSettled(...ids))
      expect(addresses.map((each) => mailbox.to(each).length)).toEqual(addresses.map(() => 1))
      expect(await worker.metric('latchkey_mail_outbox_restored_total')).toBeGreaterThan(0)
    },
  )

  it('finishes what is in hand when it is stopped, and exits 0; nothing comes twice', async () => {
    mailbox.delayMs = 300
    const addresses = Array.from({ length: 40 }, (_, index) => `${index}-${address}`)
    await requestAll(addresses)
    {
      await using worker = await startWorker()
      await waitFor(() => addresses.some((each) => mailbox.to(each).length > 0))
      expect(await worker.kill('SIGTERM')).toBe(0)
    }
    const before = addresses.filter((each) => mailbox.to(each).length > 0).length
    expect(before).toBeLessThan(addresses.length)
    mailbox.delayMs = 0
    await using _next = await startWorker()
    await waitFor(() => addresses.every((each) => mailbox.to(each).length > 0))
    expect(addresses.map((each) => mailbox.to(each).length)).toEqual(addresses.map(() => 1))
  })

  it('sends each mail once with two workers', async () => {
    await using _one = await startWorker()
    await using _two = await startWorker()
    const addresses = Array.from({ length: 60 }, (_, index) => `${index}-${address}`)
    await requestAll(addresses)
    await waitFor(() => addresses.every((each) => mailbox.to(each).length > 0))
    await wait(1_000)
    expect(addresses.map((each) => mailbox.to(each).length)).toEqual(addresses.map(() => 1))
  })

  it('starts no more mails a second than MAIL_RATE says', async () => {
    const addresses = Array.from({ length: 60 }, (_, index) => `${index}-${address}`)
    await requestAll(addresses)
    const isDone = () => addresses.every((each) => mailbox.to(each).length > 0)
    await using _worker = await startWorker({ MAIL_RATE: '10' })
    await waitFor(() => addresses.some((each) => mailbox.to(each).length > 0))
    const start = Date.now()
    await waitFor(isDone)
    // From the first to start to the last are 5 s; the first may take its time to arrive.
    expect(Date.now() - start).toBeGreaterThan(3_000)
  })

  it('deletes resets that expired more than a day ago', async () => {
    const insert = (id: string, expiresAt: Date) =>
      producer.db.execute(
        {
          name: 'test-insert-reset',
          text: `insert into password_reset (id, email, token_hash, code_hash, expires_at)
            values ($1, $2, $3, $3, $4)`,
        },
        [producer.db.toUuidValue(id), address, 'a'.repeat(64), expiresAt],
      )
    await insert(randomUUID(), new Date(Date.now() - 25 * 3_600_000))
    const young = randomUUID()
    await insert(young, new Date(Date.now() - 23 * 3_600_000))
    await using _worker = await startWorker()
    const find = { name: 'test-find-resets', text: 'select id from password_reset where email = $1' }
    await waitFor(async () => (await producer.db.query(find, [address])).length === 1)
    const [left] = await producer.db.query<{ id: unknown }>(find, [address])
    expect(producer.db.fromUuidValue(left?.id)).toBe(young)
  })

  it('loses nothing when it is killed again and again, and repeats under the same Message-ID', async () => {
    mailbox.delayMs = 20
    const before = mailbox.mails.length
    const ids: string[] = []
    const kills = Math.max(4, Math.round(KILLED_MAILS / 50))
    let killed = 0
    const produce = async () => {
      for (let index = 0; index < KILLED_MAILS; index++) {
        ids.push(await producer.request(`${index}-${address}`))
        await wait(5)
      }
    }
    const kill = async () => {
      while (killed < kills) {
        await using worker = await startWorker()
        const start = mailbox.mails.length
        await waitFor(() => mailbox.mails.length > start + 3 || allArrived())
        await wait(Math.random() * 100)
        await worker.kill('SIGKILL')
        killed++
      }
    }
    // Ours alone: what an earlier test left to be tried again may arrive meanwhile.
    const ours = () => {
      const own = new Set<string | undefined>(ids.map((id) => `<${id}@example.com>`))
      return mailbox.mails.slice(before).filter(({ messageId }) => own.has(messageId))
    }
    const arrived = () => new Set(ours().map(({ messageId }) => messageId))
    const allArrived = () =>
      ids.length === KILLED_MAILS && ids.every((id) => arrived().has(`<${id}@example.com>`))
    await Promise.all([produce(), kill()])
    await using last = await startWorker()
    await waitFor(allArrived, 120_000)
    const counts = await producer.queue.counts()
    const repeats = ours().length - arrived().size
    const announced = () => new Set(announcedIn([...logs, last.log()].join('\n')))
    const twice = ids.filter(
      (id) => ours().filter(({ messageId }) => messageId === `<${id}@example.com>`).length > 1,
    )
    process.stdout.write(
      `${combination}: ${KILLED_MAILS} mails, ${killed} kills, ${arrived().size} arrived, ${repeats} again, ${announced().size} announced as possible repeats\n`,
    )
    await expect.poll(() => twice.filter((id) => !announced().has(id))).toEqual([])
    await expect
      .poll(async () => (await last.metric('latchkey_mail_repeated_total')) - announcedIn(last.log()).length)
      .toBe(0)
    expect(arrived().size).toBe(KILLED_MAILS)
    // At the most what was in hand at each kill.
    expect(repeats).toBeLessThanOrEqual(killed * 8)
    expect(counts.failed).toBe((await producer.queue.listFailed()).length)
  })

  it('stops by itself when whoever spawned it goes away', async () => {
    await using worker = await startWorker({}, { withIpc: true })
    await worker.ready()
    worker.process.disconnect()
    await waitFor(() => worker.process.exitCode !== null)
    expect(worker.process.exitCode).toBe(0)
  })

  it('leaves no code in the database, the queue or the log', async () => {
    await producer.request(`unsent-${address}`)
    await producer.requestAndDie(`unsent-too-${address}`)
    const dump = await servers.dump()
    expect(dump).toContain(`unsent-${address}`)
    const shown = producer.codes.filter((code) =>
      new RegExp(`(?<![0-9a-f.])${code}(?![0-9a-f])`).test(`${dump}${logs.join('')}`),
    )
    expect(shown).toEqual([])
  })
})
