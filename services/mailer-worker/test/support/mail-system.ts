import { randomBytes } from 'node:crypto'
import type { Servers } from '@latchkey/test-support/mail-servers.ts'
import { type Mailbox, openMailbox } from '@latchkey/test-support/mailbox.ts'
import { openProducer, type Producer } from '@latchkey/test-support/producer.ts'
import {
  startWorkerProcess,
  type WorkerProcess,
  type WorkerProcessOptions,
} from '@latchkey/test-support/worker-process.ts'
import { expect } from 'vitest'

export interface MailSystem extends AsyncDisposable {
  mailbox: Mailbox
  producer: Producer
  /** The log of each worker that has ended. */
  logs: string[]
  startWorker(settings?: Record<string, string>, options?: WorkerProcessOptions): Promise<WorkerProcess>
  /** Requests one mail for each address, one at a time: the producer has few connections. Returns the ids. */
  requestAll(addresses: readonly string[]): Promise<string[]>
  /** Waits until each address has its mail and no job is left; then each has exactly one. */
  expectOneEach(addresses: readonly string[]): Promise<void>
  /** Finds those of the mails that are in the outbox. */
  findUnsettled(...ids: string[]): Promise<string[]>
}

/** A mail server, and what auth-api does with mail, on running servers. Workers are processes. */
export async function openMailSystem(
  servers: Pick<Servers, 'databaseUrl' | 'queueUrl'>,
): Promise<MailSystem> {
  const secret = randomBytes(32)
  const mailbox = await openMailbox()
  const producer = await openProducer(servers, secret)
  const logs: string[] = []

  const hasMail = (address: string) => mailbox.to(address).length > 0
  const isQueueEmpty = async () => {
    const { waiting, active, delayed } = await producer.queue.counts()
    return waiting + active + delayed === 0
  }

  return {
    mailbox,
    producer,
    logs,
    async startWorker(settings = {}, options = {}) {
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
    },
    async requestAll(addresses) {
      const ids: string[] = []
      for (const address of addresses) ids.push(await producer.request(address))
      return ids
    },
    async expectOneEach(addresses) {
      await expect.poll(() => addresses.filter((address) => !hasMail(address))).toEqual([])
      await expect.poll(isQueueEmpty).toBe(true)
      expect(addresses.map((address) => mailbox.to(address).length)).toEqual(addresses.map(() => 1))
    },
    async findUnsettled(...ids) {
      const isUnsettled = await Promise.all(ids.map((id) => producer.outbox.has(id)))
      return ids.filter((_, index) => isUnsettled[index])
    },
    async [Symbol.asyncDispose]() {
      await producer[Symbol.asyncDispose]()
      await mailbox[Symbol.asyncDispose]()
    },
  }
}

export const anAddress = (): string => `${randomBytes(6).toString('hex')}@example.com`

export const addressesOf = (address: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${index}-${address}`)
