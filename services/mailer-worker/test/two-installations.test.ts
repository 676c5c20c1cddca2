import { expect, it } from 'vitest'
import { addressesOf, anAddress } from './support/mail-system.ts'
import { openTwo, QUEUES } from './support/two-installations.ts'

it.each(QUEUES)('two installations with their queues on one %s send each its own mail', async (kind) => {
  await using two = await openTwo(kind)
  const [one, other] = two.systems
  const [mine, others] = [addressesOf(anAddress(), 10), addressesOf(anAddress(), 10)]
  await other.requestAll(others)
  await one.requestAll(mine)
  await using worker = await one.startWorker()
  await one.expectOneEach(mine)
  expect(await other.producer.queue.counts(), 'waits for its own worker').toMatchObject({ waiting: 10 })
  await using _otherWorker = await other.startWorker()
  await other.expectOneEach(others)
  expect(await worker.metric('latchkey_mail_retried_total')).toBe(0)
})
