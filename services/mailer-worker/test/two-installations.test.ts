import { mailJobOptions } from '@latchkey/shared/mail-queue/job-options.ts'
import { MAIL_QUEUE } from '@latchkey/shared/mail-queue/mail-job.ts'
import { FORMER_QUEUE, openBullQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { expect, it } from 'vitest'
import { hasDocker, sharedServer } from '../../test/servers/shared-server.ts'
import { addressesOf, anAddress, type MailSystem, openMailSystem } from './support/mail-system.ts'
import { createOwnServers } from './support/own-servers.ts'

/** Two installations with a database each, whose queues are on one server: Redis, or PostgreSQL. */
async function openTwo(kind: string) {
  await using stack = new AsyncDisposableStack()
  const [one, two] = [stack.use(await createOwnServers()), stack.use(await createOwnServers())]
  const queueUrl = kind === 'Redis' ? await sharedServer('redis') : one.queueUrl
  const systems = [
    stack.use(await openMailSystem({ databaseUrl: one.databaseUrl, queueUrl })),
    stack.use(await openMailSystem({ databaseUrl: two.databaseUrl, queueUrl })),
  ]
  const running = stack.move()
  return { systems, queueUrl, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

const QUEUES = hasDocker() ? ['Redis', 'PostgreSQL'] : ['PostgreSQL']

it.each(QUEUES)('two installations with their queues on one %s send each its own mail', async (kind) => {
  await using two = await openTwo(kind)
  for (const system of two.systems) {
    await using _worker = await system.startWorker()
    const addresses = addressesOf(anAddress(), 10)
    const others = two.systems.filter((each) => each !== system)
    const ofOthers = addressesOf(anAddress(), 10)
    for (const other of others) await other.requestAll(ofOthers)
    await system.requestAll(addresses)
    await system.expectOneEach(addresses)
    for (const other of others) {
      expect(await other.producer.queue.counts(), 'waits for its own worker').toMatchObject({ waiting: 10 })
      await using _other = await other.startWorker()
      await other.expectOneEach(ofOthers)
    }
    expect(await _worker.metric('latchkey_mail_retried_total')).toBe(0)
  }
})

/** Leaves a mail as the release before does: in the outbox, and in the queue that all installations share. */
async function leave({ producer }: MailSystem, to: string, queueUrl: string): Promise<string> {
  const id = await producer.requestAndDie(to)
  const job = await producer.aJob(id, to)
  const former = openBullQueue(queueUrl, FORMER_QUEUE, {}, () => undefined)
  await former.queue.add(MAIL_QUEUE, job, mailJobOptions(id, job.expiresAt))
  await former.close()
  await producer.outbox.markDispatched([id], new Date())
  return id
}

it.each(QUEUES)('what the release before has left in %s is sent by its installation, once', async (kind) => {
  await using two = await openTwo(kind)
  const left: { system: MailSystem; addresses: string[] }[] = []
  for (const system of two.systems) {
    const addresses = addressesOf(anAddress(), 5)
    for (const address of addresses) await leave(system, address, two.queueUrl)
    left.push({ system, addresses })
  }
  // The sweep would bring these mails too, later.
  const settings = { OUTBOX_SWEEP: '600' }
  await using one = await two.systems[0]?.startWorker(settings)
  await using other = await two.systems[1]?.startWorker(settings)
  for (const { system, addresses } of left) await system.expectOneEach(addresses)
  for (const worker of [one, other]) {
    expect(await worker?.metric('latchkey_mail_retried_total')).toBe(0)
    expect(await worker?.metric('latchkey_mail_outbox_restored_total')).toBe(0)
  }
})

it.each(QUEUES)(
  'a mail that the release before has left in %s, and sent since, is not sent again',
  async (kind) => {
    await using two = await openTwo(kind)
    const [system] = two.systems
    if (!system) throw new Error('no system')
    const [gone, kept] = addressesOf(anAddress(), 2)
    await system.producer.outbox.remove(await leave(system, gone ?? '', two.queueUrl))
    await leave(system, kept ?? '', two.queueUrl)
    await using _worker = await system.startWorker()
    await system.expectOneEach([kept ?? ''])
    expect(system.mailbox.to(gone ?? '')).toEqual([])
  },
)
