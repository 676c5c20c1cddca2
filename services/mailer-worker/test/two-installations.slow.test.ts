import { mailJobOptions } from '@latchkey/shared/mail/queue/job-options.ts'
import { MAIL_QUEUE } from '@latchkey/shared/mail/queue/mail-job.ts'
import { FORMER_QUEUE, openBullQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { expect, it } from 'vitest'
import { addressesOf, anAddress, type MailSystem } from './support/mail-system.ts'
import { openTwo, QUEUES } from './support/two-installations.ts'

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
  await using one = await two.systems[0].startWorker(settings)
  await using other = await two.systems[1].startWorker(settings)
  for (const { system, addresses } of left) await system.expectOneEach(addresses)
  for (const worker of [one, other]) {
    expect(await worker.metric('latchkey_mail_retried_total')).toBe(0)
    expect(await worker.metric('latchkey_mail_outbox_restored_total')).toBe(0)
  }
})

it.each(QUEUES)(
  'a mail that the release before has left in %s, and sent since, is not sent again',
  async (kind) => {
    await using two = await openTwo(kind)
    const [system] = two.systems
    const [gone, kept] = addressesOf(anAddress(), 2)
    await system.producer.outbox.remove(await leave(system, gone ?? '', two.queueUrl))
    await leave(system, kept ?? '', two.queueUrl)
    await using _worker = await system.startWorker()
    await system.expectOneEach([kept ?? ''])
    expect(system.mailbox.to(gone ?? '')).toEqual([])
  },
)
