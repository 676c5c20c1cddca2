import { randomInt, randomUUID } from 'node:crypto'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { createMailDispatcher } from '@latchkey/shared/mail/outbox/dispatch-mail.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import type { MailJob } from '@latchkey/shared/mail/queue/mail-job.ts'
import { type MailQueue, openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import type { Servers } from './mail-servers.ts'

export interface Producer {
  db: Database
  queue: MailQueue
  outbox: ReturnType<typeof createOutboxRepository>
  /** Every code that a mail contains. */
  codes: string[]
  /** A job to add by hand under the id `id`. */
  aJob(id: string, to: string, changes?: Partial<MailJob>): Promise<MailJob>
  /** Accepts a mail as auth-api does: into the outbox in a transaction, then dispatched. Returns its id. */
  request(to: string, changes?: Partial<MailJob>): Promise<string>
  /** Accepts it, as a process does that dies before it dispatches. */
  requestAndDie(to: string, changes?: Partial<MailJob>): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

/** Opens the part of auth-api that accepts mail. */
export async function openProducer(
  servers: Pick<Servers, 'databaseUrl' | 'queueUrl'>,
  secret: Buffer,
): Promise<Producer> {
  const db = await openDatabase(servers.databaseUrl, { poolSize: 4 })
  const queue = openMailQueue(servers.queueUrl, { readInstallation: createReadInstallation(db) })
  const outbox = createOutboxRepository(db)
  const sealer = createSealer(secret)
  const dispatcher = createMailDispatcher({ outbox, queue, localNow: Date.now, maxDelayMs: 0 })
  const codes: string[] = []

  async function aJob(id: string, to: string, changes: Partial<MailJob> = {}): Promise<MailJob> {
    const code = String(randomInt(1_000_000)).padStart(6, '0')
    codes.push(code)
    const mail = {
      to,
      subject: '',
      template: 'password-reset',
      language: 'en',
      expiresAt: new Date(Date.now() + 600_000).toISOString(),
      ...changes,
    }
    return { variables: await sealer.seal(id, mail, { code, minutes: '10', name: 'Ada' }), ...mail }
  }
  async function store(to: string, changes: Partial<MailJob> | undefined) {
    const id = randomUUID()
    const job = await aJob(id, to, changes)
    await db.transaction((transaction) => createOutboxRepository(transaction).insert(id, job, new Date()))
    return { id, job }
  }

  return {
    db,
    queue,
    outbox,
    codes,
    aJob,
    async request(to, changes) {
      const { id, job } = await store(to, changes)
      dispatcher.dispatch(id, job)
      return id
    },
    requestAndDie: async (to, changes) => (await store(to, changes)).id,
    async [Symbol.asyncDispose]() {
      await dispatcher.close()
      await queue.close()
      await db.close()
    },
  }
}
